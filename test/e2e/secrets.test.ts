/**
 * Plants secrets, makes a whole session fail in every known way, and then looks for the secrets in everything that others can see.
 */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { test } from 'node:test';
import { fixtureTags } from '../support/flv-file.ts';
import { startPublisher } from '../support/publisher.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import { type ServerProcess, startServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Answer, get, mediaPlaylistUris } from './viewer.ts';

test('no log line, answer, header, page, metric or process argument contains a secret, whatever goes wrong', async () => {
  await using server = await startServerProcess();
  const answers: Answer[] = [];
  const ask = async (path: string, init?: RequestInit) => {
    const answer = await get(path.startsWith('http') ? path : server.url + path, init);
    answers.push(answer);
    return answer;
  };
  const stream = await server.api.createStream({ name: 'secretive' });
  const { streamKey, playbackId } = stream;
  const secrets = {
    'API key': server.apiKey,
    'stream key': streamKey,
    'wrong API key': 'wrong_0123456789abcdefghijklmnopqrstuvw',
    'wrong stream key': 'wxyz-wxyz-wxyz-wxyz',
  };
  const wrongApiKey = secrets['wrong API key'];

  // Publishers of every kind, correct and faulty.
  const publish = () => startPublisher({ url: server.rtmpUrl(streamKey), video: { width: 320, height: 180 } });
  let publisher = await publish();
  const index = await waitFor(
    async () => {
      const answer = await get(server.playlistUrl(playbackId));
      return answer.status === 200 && answer;
    },
    { what: 'the first playlist' },
  );
  const secondIsRefused = async () => {
    const accepted = await acceptedPublisher(server, streamKey);
    if (accepted === undefined) return true;
    // Nothing was heard of the first one for 3 s, because the machine stood still.
    await accepted[Symbol.asyncDispose]();
    await publisher.kill();
    publisher = await waitFor(() => publish().catch(() => undefined), { what: 'another publisher' });
    return false;
  };
  await waitFor(secondIsRefused, { what: 'the refusal of a second publisher' });
  await assert.rejects(RtmpClient.publish(server.rtmpPort, secrets['wrong stream key']), RtmpRefusedError);
  await publishUnderWrongNames(server, streamKey);
  await publisher.kill();
  await waitFor(async () => !(await server.api.getStream(stream.id)).isActive, {
    what: 'the lost encoder to be noticed',
  });
  await publishNonsense(server, streamKey);

  // Viewers, and strangers who find the port.
  answers.push(index);
  for (const uri of mediaPlaylistUris(index.body.toString())) await ask(new URL(uri, index.url).href);
  for (const secret of Object.values(secrets)) {
    for (const path of [
      '/hls/*/index.m3u8',
      '/hls/*/*/source.m3u8',
      '/play/*',
      '/api/stream/*',
      '/api/playback/*',
      '/*',
    ]) {
      await ask(path.replaceAll('*', encodeURIComponent(secret)));
    }
    await ask(`/api/stream?access_token=${secret}&limit=${secret}`);
    await ask(`/hls/${playbackId}/index.m3u8?token=${secret}&_HLS_msn=${secret}`);
  }
  await useWrongly(ask, server.apiKey, wrongApiKey, streamKey);
  await speakNonsense(server, server.apiKey);
  for (const path of [
    '/healthz',
    '/api/openapi.json',
    '/api/docs',
    `/play/${playbackId}`,
    `/api/playback/${playbackId}`,
  ]) {
    await ask(path);
  }
  await ask('/api/ingest', { headers: { authorization: `Bearer ${server.apiKey}` } });
  await ask(server.metricsUrl);
  await ask(`${server.url}/api/stream/${stream.id}`, { headers: { authorization: `Bearer ${wrongApiKey}` } });
  assert.ok(answers.length > 50);

  const seen = new Map([
    ...answers.map((answer) => [`the answer ${answer.status} to ${answer.url}`, visible(answer)] as const),
    ...server.logLines.map((line, number) => [`log line ${number}: ${line.slice(0, 200)}`, line] as const),
    ...(await processArguments(server.pid)),
  ]);
  const own = await server.api.getStream(stream.id);
  assert.equal(own.streamKey, streamKey, 'its owner may read it');
  for (const [what, secret] of Object.entries(secrets)) {
    const leaks = [...seen]
      .filter(([, text]) => text.includes(secret))
      .map(([where]) => where.replaceAll(secret, '[it]'));
    assert.deepEqual(leaks, [], `the ${what} can be seen`);
  }
});

/** Publishes to a stream. Undefined when the server refuses it. */
async function acceptedPublisher(server: ServerProcess, streamKey: string): Promise<RtmpClient | undefined> {
  try {
    return await RtmpClient.publish(server.rtmpPort, streamKey);
  } catch (error) {
    assert.ok(error instanceof RtmpRefusedError);
    return undefined;
  }
}

/** Sends keys in place of names, as happens when people paste the wrong text. */
async function publishUnderWrongNames(server: ServerProcess, streamKey: string): Promise<void> {
  for (const [app, name] of [
    [streamKey, ''],
    [`live/${streamKey}`, ''],
    ['live', `${streamKey}?token=${streamKey}`],
    ['live', `../${streamKey}`],
  ] as const) {
    // It is refused, or answered as busy where the server recognises the stream. Neither answer contains the key.
    await RtmpClient.publish(server.rtmpPort, name, app).catch((error: unknown) => {
      assert.doesNotMatch(String(error), new RegExp(streamKey));
    });
  }
}

/** An accepted publisher that then breaks the protocol, and one that is reset. */
async function publishNonsense(server: ServerProcess, streamKey: string): Promise<void> {
  const broken = await RtmpClient.publish(server.rtmpPort, streamKey);
  broken.tags(fixtureTags().slice(0, 40));
  broken.raw(Buffer.concat([Buffer.from([0x03, 0, 0, 0, 0xff, 0xff, 0xff, 20, 0, 0, 0, 0]), Buffer.from(streamKey)]));
  await broken.closed();
  const dropped = await RtmpClient.publish(server.rtmpPort, streamKey);
  dropped.tags(fixtureTags().slice(0, 40));
  dropped.drop();
  await dropped.closed();
}

/** Requests with a key in every place where it does not belong. */
async function useWrongly(
  ask: (path: string, init?: RequestInit) => Promise<Answer>,
  apiKey: string,
  wrongApiKey: string,
  streamKey: string,
): Promise<void> {
  const json = { 'content-type': 'application/json' };
  const good = { ...json, authorization: `Bearer ${apiKey}` };
  for (const authorization of [`Basic ${apiKey}`, apiKey, `Bearer ${wrongApiKey}`, `Bearer  ${apiKey} ${apiKey}`]) {
    await ask('/api/stream', { method: 'POST', headers: { ...json, authorization }, body: '{"name":"x"}' });
  }
  const bodies = [
    `{"name":"x","streamKey":"${streamKey}"}`,
    `{"name":"x","${streamKey}":1}`,
    `{"name":["${streamKey}"]}`,
    `{"name":"x","profiles":[{"name":"${streamKey}"}]}`,
    `{"name":"${apiKey}`,
    `"${apiKey}"`,
  ];
  for (const body of bodies)
    assert.ok((await ask('/api/stream', { method: 'POST', headers: good, body })).status >= 400);
  await ask('/api/stream', { method: 'POST', headers: { ...good, 'content-type': apiKey }, body: 'x' });
  await ask('/api/stream?cursor='.concat(streamKey), { headers: good });
  await ask('/api/stream?limit='.concat(streamKey), { headers: good });
}

/** Sends bytes that are neither HTTP nor RTMP, with a key in them. */
async function speakNonsense(server: ServerProcess, apiKey: string): Promise<void> {
  const texts: readonly [port: number, text: string][] = [
    [server.httpPort, `GET /api/stream HTTP/1.1\r\nauthorization Bearer ${apiKey}\r\n\r\n`],
    [server.httpPort, `${apiKey} / HTTP/9.9\r\n\r\n`],
    [server.httpPort, `GET / HTTP/1.1\r\nhost: x\r\nx: ${apiKey.repeat(500)}\r\n\r\n`],
    [server.rtmpPort, `GET / HTTP/1.1\r\nauthorization: Bearer ${apiKey}\r\n\r\n`.padEnd(4000, apiKey)],
  ];
  for (const [port, text] of texts) {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (piece: string) => {
      answer += piece;
    });
    socket.on('error', () => {});
    socket.write(text);
    await new Promise((resolve) => socket.once('close', resolve));
    assert.ok(!answer.includes(apiKey));
  }
}

function visible({ headers, body }: Answer): string {
  return `${JSON.stringify([...headers])}\n${body.toString('latin1')}`;
}

/** The arguments of the server's process and of the processes that it started. */
async function processArguments(pid: number): Promise<readonly (readonly [string, string])[]> {
  const found: [string, string][] = [];
  for (const name of (await readdir('/proc')).filter((each) => /^\d+$/.test(each))) {
    const [status, line] = await Promise.all(
      ['status', 'cmdline'].map((file) => readFile(`/proc/${name}/${file}`, 'latin1').catch(() => '')),
    );
    const isOurs = Number(name) === pid || new RegExp(`^PPid:\\s+(${pid}|${process.pid})$`, 'm').test(status!);
    if (isOurs) found.push([`the arguments of process ${name}`, line!]);
  }
  assert.ok(found.length > 0);
  return found;
}
