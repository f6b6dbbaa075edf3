import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ApiClient } from './api-client.ts';

test('a stream is asked for again while the store is away, and not after another refusal', async () => {
  const refusals = [{ code: 'store_unavailable' }, { code: 'store_unavailable' }, { code: 'outcome_unknown' }];
  const server = createServer((_request, response) => {
    const refusal = refusals.shift();
    response.statusCode = refusal === undefined ? 200 : 503;
    response.end(JSON.stringify(refusal ?? { id: 'a stream' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const api = new ApiClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'a key');
    await assert.rejects(api.getStream('a'), /outcome_unknown/);
    assert.equal((await api.getStream('a')).id, 'a stream');
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
