import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';

// The player is JavaScript, so that browsers load it as it is.
const { findRecording } = (await import(new URL('recording.js', import.meta.url).href)) as {
  findRecording: (url: string) => Promise<object | string>;
};

test('a recording, no recording, and a server that gives no usable answer are distinguished', async (t) => {
  const server = createServer((request, response) => {
    const status = Number(request.url?.slice(1));
    if (status === 0) request.socket.destroy();
    else response.writeHead(status).end(status === 200 ? '{"of":"stream","folder":"../media/"}' : undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const [status, answer] of [
    [200, { of: 'stream', folder: `${url}media/` }],
    [204, 'none'],
    [401, 'none'],
    [404, 'none'],
    [429, 'unknown'],
    [503, 'unknown'],
    [0, 'unknown'],
  ] as const) {
    assert.deepEqual(await findRecording(`${url}${status}`), answer, String(status));
  }
});
