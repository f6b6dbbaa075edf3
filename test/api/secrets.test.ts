import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '#domain/secret.ts';
import { startApi } from './server.ts';

test('no error and no log line ever holds an API key or stream key, wherever a client puts them', async (t) => {
  const bootstrapKey = 'bootstrap-key-of-the-operator-0123456789';
  const api = await startApi(
    t,
    { MILLRACE_BOOTSTRAP_API_KEY: bootstrapKey, MILLRACE_WRONG_KEYS_PER_MINUTE: '1000' },
    (store) => ({
      ...store,
      // An unexpected failure whose error has the secret in a field.
      streams: {
        ...store.streams,
        byStreamKey: (key) => Promise.reject(Object.assign(new Error('unexpected'), { secret: key.reveal() })),
      },
    }),
  );
  const key = await api.makeKey('ann');
  await api.makeKey('ann', 'bootstrap', new Secret(bootstrapKey));
  const { streamKey } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();

  const profile = { name: 'a', bitrate: 1000, fps: 30, width: 640, height: 360 };
  const secrets = [key.secret, streamKey, bootstrapKey, `${key.secret}-mistyped`];
  const answers: string[] = [];
  for (const secret of secrets) {
    const placed = encodeURIComponent(secret);
    const headers = { 'x-request-id': secret, host: secret, cookie: `key=${secret}`, 'x-api-key': secret };
    for (const body of [
      { name: 7, [secret]: secret },
      { name: 'x', streamKey: secret },
      { name: 'x', [secret]: 1 },
      { name: 'x', profiles: secret },
      { name: 'x', profiles: [{ ...profile, [secret]: 1 }] },
      { name: 'x', profiles: [{ ...profile, encoder: secret }] },
      {
        name: 'x',
        profiles: [
          { ...profile, name: secret },
          { ...profile, name: secret },
        ],
      },
      `{"name": ${secret}`,
    ]) {
      answers.push((await api.call('POST', '/stream', { key, body, headers })).body);
    }
    for (const [method, path] of [
      ['GET', `/stream/${placed}`],
      ['GET', `/stream?cursor=${placed}`],
      ['GET', `/stream?limit=${placed}`],
      ['GET', `/stream/key/${placed}`],
      ['GET', `/stream/playback/${placed}`],
      ['GET', `/stream/${placed}/info`],
      ['GET', `/stream/${placed}/sessions`],
      ['GET', `/stream?order=${placed}`],
      ['GET', `/stream?filters=${placed}`],
      ['GET', `/stream?filters=${encodeURIComponent(JSON.stringify([{ id: secret, value: secret }]))}`],
      ['GET', `/session/${placed}`],
      ['GET', `/session?parentId=${placed}`],
      ['GET', `/data/views/now?playbackId=${placed}`],
      ['PATCH', `/stream/${placed}`],
      ['DELETE', `/stream/${placed}`],
      ['DELETE', `/stream/${placed}/terminate`],
      ['POST', `/stream/${placed}/rotate-key`],
      ['GET', `/webhook/${placed}`],
      ['GET', `/playback/${placed}`],
      ['DELETE', `/${placed}`],
      ['GET', `/${placed}%`],
    ] as const) {
      answers.push((await api.call(method, path, { key, headers })).body);
    }
    for (const authorization of [`Bearer ${secret}-mistyped`, `Basic ${secret}`, secret]) {
      answers.push((await api.call('GET', '/stream', { headers: { authorization } })).body);
    }
  }
  const errors = answers.filter((answer) => answer.includes('"errors"'));
  assert.equal(errors.length, answers.length, 'each of these requests was refused');
  for (const secret of secrets) {
    for (const text of [...answers, ...api.lines]) assert.ok(!text.includes(secret), text);
  }
  assert.ok(api.lines.length > 0, 'the unexpected failures were logged');
});
