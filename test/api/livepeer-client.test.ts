/**
 * Tests every method of the reference service's official client with Millrace: each gives data or fails with 501, because some of its
 * methods take an unexpected answer for success without data.
 */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import { Livepeer } from 'livepeer';
import { Events } from 'livepeer/models/components/index.js';
import { QueryParamBreakdownBy, TimeStep } from 'livepeer/models/operations/getviewershipmetrics.js';
import type { AssetId, StreamId } from '#domain/ids.ts';
import { NO_USAGE } from '#domain/usage.ts';
import { ms } from '#lib/units.ts';
import { SOME_EXTENT, someReceipt, someSession, someStream } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { startReceiver } from '#test/support/webhook-receiver.ts';
import { startApi } from './server.ts';

const profile = { name: '720p', bitrate: 2_000_000, fps: 30, width: 1280, height: 720 };

test('the official client works with streams, sessions, viewers and playback, and gets 501 for what is not supported yet', async (t) => {
  const api = await startApi(t);
  const { secret } = await api.makeKey('ann', 'ann-laptop');
  const serverURL = `${await api.http.listen({ host: '127.0.0.1', port: 0 })}/api`;
  const client = new Livepeer({ apiKey: secret, serverURL });

  const { stream } = await client.stream.create({
    name: 'by the client',
    profiles: [profile],
    record: true,
    creatorId: 'c1',
    userTags: { season: 3 },
    playbackPolicy: null,
    multistream: { targets: [] },
  });
  assert.ok(stream?.id && stream.playbackId && stream.streamKey);
  const { id, playbackId } = stream;
  assert.deepEqual(stream.profiles, [profile]);
  assert.deepEqual(stream.creatorId, { type: 'unverified', value: 'c1' });
  assert.deepEqual([stream.record, stream.userTags, stream.createdByTokenName], [true, { season: 3 }, 'ann-laptop']);

  const stored = (await api.store.streams.get(id as StreamId, 'everyone'))!;
  const ended = { phase: 'ended', endedAt: ms(5), endReason: 'unpublished' } as const;
  const session = someSession(stored, ended);
  await api.store.sessions.create(session);

  assert.deepEqual((await client.stream.get(id)).stream, stream);
  assert.deepEqual((await client.stream.getAll()).data, [stream]);
  assert.deepEqual((await client.stream.getAll('1')).data, [stream]);
  assert.equal((await client.stream.update({ name: 'renamed', suspended: false }, id)).statusCode, 204);
  assert.equal((await client.stream.get(id)).stream?.name, 'renamed');
  assert.equal((await client.stream.terminate(id)).statusCode, 204);
  assert.equal((await client.session.get(session.id)).session?.parentId, id);
  assert.deepEqual(
    (await client.session.getAll()).data?.map((each) => each.id),
    [session.id],
  );
  for (const record of [true, 1]) {
    const recorded = await client.session.getRecorded(id, record);
    assert.deepEqual(
      recorded.data?.map((each) => [each.id, each.recordingStatus]),
      [[session.id, 'waiting']],
    );
  }
  const { playbackInfo } = await client.playback.get(playbackId);
  assert.deepEqual(
    [playbackInfo?.type, playbackInfo?.meta.source[0]?.url],
    ['live', `${serverURL.replace('/api', '')}/hls/${playbackId}/index.m3u8`],
  );
  assert.deepEqual((await client.metrics.getRealtimeViewership(playbackId)).data, [
    { playbackId, viewCount: 0, errorRate: 0 },
  ]);
  assert.equal((await client.stream.delete(id)).statusCode, 204);
  await assert.rejects(client.stream.get(id), { statusCode: 404 });
});

test('the official client reads recordings, makes clips of live streams, and plays each, with data in every answer', async (t) => {
  const api = await startApi(t);
  const { secret } = await api.makeKey('ann');
  const origin = await api.http.listen({ host: '127.0.0.1', port: 0 });
  const client = new Livepeer({ apiKey: secret, serverURL: `${origin}/api` });
  const { stream } = await client.stream.create({ name: 'show', record: true, recordingSpec: {} });
  assert.ok(stream?.id && stream.playbackId);
  const stored = (await api.store.streams.get(stream.id as StreamId, 'everyone'))!;
  const session = someSession(stored, { phase: 'live' });
  await api.store.sessions.create(session);
  api.extents.set(session.recordingPath!, SOME_EXTENT);
  const recordingUrl = `${origin}/recordings/${session.recordingPath}/index.m3u8`;
  const from = SOME_EXTENT.fromMs!;

  const shown = (await client.session.get(session.id)).session;
  assert.deepEqual([shown?.recordingStatus, shown?.recordingUrl], ['waiting', recordingUrl]);
  assert.match(shown?.mp4Url ?? '', /\.mp4$/);
  const recorded = (await client.session.getRecorded(stream.id, true)).data;
  assert.deepEqual(
    recorded?.map((each) => [each.id, each.recordingUrl]),
    [[session.id, recordingUrl]],
  );
  const made = await client.stream.createClip({
    playbackId: stream.playbackId,
    startTime: from + 1000,
    endTime: from + 2000,
    name: 'a clip',
  });
  const clip = made.data?.asset;
  assert.ok(clip?.playbackId && made.data?.task.id === clip.id);
  assert.deepEqual([clip.status?.phase, clip.source.type, clip.videoSpec?.duration], ['ready', 'clip', 1]);
  for (const answer of [await client.stream.getClips(stream.id), await client.session.getClips(session.id)]) {
    assert.deepEqual(answer.data, [clip]);
  }
  assert.deepEqual((await client.asset.get(clip.id)).asset, clip);
  assert.deepEqual(
    (await client.asset.getAll()).data?.map(({ id, status }) => [id, status?.phase]),
    [
      [clip.id, 'ready'],
      [session.id, 'waiting'],
    ],
  );
  const update = { name: 'renamed', creatorId: 'c1', playbackPolicy: { type: 'jwt' as never } };
  const { asset: updated } = await client.asset.update(update, clip.id);
  assert.deepEqual([updated?.name, updated?.playbackPolicy?.type], ['renamed', 'jwt']);
  const { task } = await client.task.get(clip.id);
  assert.deepEqual([task?.type, task?.outputAssetId, task?.status?.phase], ['clip', clip.id, 'completed']);
  assert.deepEqual((await client.task.getAll()).data, [task]);

  const types: Record<string, string> = {
    [stream.playbackId]: 'live',
    [session.id]: 'recording',
    [clip.playbackId]: 'vod',
  };
  for (const [id, type] of Object.entries(types)) {
    const { playbackInfo } = await client.playback.get(id);
    assert.equal(playbackInfo?.type, type);
    assert.ok(playbackInfo.meta.source.length >= (type === 'live' ? 1 : 4));
  }
  await api.store.sessions.change(session.id, { phase: 'ended', endedAt: ms(from + 99_000), endReason: 'unpublished' });
  await api.store.assets.finish(session.id as string as AssetId, SOME_EXTENT, ms(from + 99_000));
  assert.equal((await client.session.get(session.id)).session?.recordingStatus, 'ready');
  for (const id of [clip.id, session.id]) {
    assert.equal((await client.asset.delete(id)).statusCode, 204);
    await assert.rejects(client.asset.get(id), { statusCode: 404 });
  }
  assert.equal((await client.session.get(session.id)).session?.recordingStatus, 'deleted');
});

test('the official client manages signing keys, and sees the policies it sets', async (t) => {
  const api = await startApi(t);
  const { secret } = await api.makeKey('ann');
  const serverURL = `${await api.http.listen({ host: '127.0.0.1', port: 0 })}/api`;
  const client = new Livepeer({ apiKey: secret, serverURL });

  const { signingKey } = await client.accessControl.create();
  assert.ok(signingKey?.id && signingKey.publicKey);
  const pem = Buffer.from(signingKey.publicKey, 'base64').toString();
  assert.equal(createPublicKey(pem).asymmetricKeyDetails?.namedCurve, 'prime256v1');
  const { id } = signingKey;
  assert.equal((await client.accessControl.update({ name: 'website', disabled: true }, id)).statusCode, 204);
  const changed = (await client.accessControl.get(id)).signingKey;
  assert.deepEqual([changed?.name, changed?.disabled, changed?.publicKey], ['website', true, signingKey.publicKey]);
  assert.deepEqual((await client.accessControl.getAll()).data, [changed]);
  assert.equal((await client.accessControl.delete(id)).statusCode, 204);
  await assert.rejects(client.accessControl.get(id), { statusCode: 404 });

  const playbackPolicy = { type: 'jwt' as never, allowedOrigins: ['https://example.com'] };
  const { stream } = await client.stream.create({ name: 'x', playbackPolicy });
  assert.deepEqual(stream?.playbackPolicy?.type, 'jwt');
  assert.deepEqual(stream?.playbackPolicy?.allowedOrigins, ['https://example.com']);
  const { playbackInfo } = await client.playback.get(stream!.playbackId!);
  assert.equal(playbackInfo?.meta.playbackPolicy?.type, 'jwt');
});

test('the official client creates webhooks with every event type that it knows, also one that guards streams', async (t) => {
  const api = await startApi(t, { MILLRACE_WEBHOOKS_ALLOW_PRIVATE: '1' });
  const { secret } = await api.makeKey('ann');
  const serverURL = `${await api.http.listen({ host: '127.0.0.1', port: 0 })}/api`;
  const { webhook: webhooks } = new Livepeer({ apiKey: secret, serverURL });
  const every = Object.values(Events);
  const url = 'http://127.0.0.1:9/';
  const { webhook } = await webhooks.create({ name: 'all', url, events: every });
  assert.deepEqual(webhook?.events, every);
  const { webhook: guard } = await webhooks.create({ name: 'guard', url, events: [Events.PlaybackAccessControl] });
  assert.deepEqual((await webhooks.getAll()).data, [guard, webhook]);
  const path = '/webhook/subscribed/playback.accessControl';
  const subscribed = await api.call('GET', path, { headers: { authorization: `Bearer ${secret}` } });
  assert.deepEqual(
    subscribed.json().map(({ id }: { id: string }) => id),
    [guard?.id, webhook?.id],
  );
});

test('the official client creates, reads, changes and deletes webhooks, and reads and repeats deliveries', async (t) => {
  const api = await startApi(t, { MILLRACE_WEBHOOKS_ALLOW_PRIVATE: '1' });
  await using receiver = await startReceiver();
  const { secret } = await api.makeKey('ann');
  const serverURL = `${await api.http.listen({ host: '127.0.0.1', port: 0 })}/api`;
  const { webhook: webhooks, stream: streams } = new Livepeer({ apiKey: secret, serverURL });

  const input = { name: 'mine', url: receiver.url, events: [Events.StreamStarted, Events.StreamIdle] };
  const { webhook } = await webhooks.create({ ...input, sharedSecret: 'a-secret-of-my-own' });
  assert.ok(webhook?.id !== undefined && webhook.createdAt !== undefined);
  const { id } = webhook;
  assert.deepEqual([webhook.name, webhook.url, webhook.events], [input.name, input.url, input.events]);
  assert.deepEqual((await webhooks.get(id)).webhook, webhook);
  assert.deepEqual((await webhooks.getAll()).data, [webhook]);
  const { webhook: updated } = await webhooks.update({ ...input, name: 'renamed' }, id);
  assert.deepEqual(updated, { ...webhook, name: 'renamed' });

  const { stream } = await streams.create({ name: 'live' });
  const activity = { isActive: true, lastSeen: ms(1), health: undefined };
  await api.store.streams.setActivity(stream!.id as StreamId, activity);
  const log = await waitFor(async () => (await webhooks.getLogs(id)).data?.[0], { what: 'the entry of the log' });
  assert.deepEqual([log.event, log.success, log.webhookId], ['stream.started', true, id]);
  assert.equal(log.request?.body, receiver.received[0]?.text);
  assert.deepEqual((await webhooks.getLog(id, log.id)).webhookLog, log);
  const { webhookLog: again } = await webhooks.resendLog(id, log.id);
  assert.deepEqual([again?.success, again?.id === log.id, receiver.received.length], [true, false, 2]);
  assert.equal((await webhooks.delete(id)).webhook?.id, id);
  await assert.rejects(webhooks.get(id), { statusCode: 404 });
});

test('the official client reads views and usage', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const serverURL = `${await api.http.listen({ host: '127.0.0.1', port: 0 })}/api`;
  const { metrics } = new Livepeer({ apiKey: ann.secret, serverURL });
  const stream = someStream(ann.userId);
  await api.store.streams.create(stream, someReceipt());
  const { playbackId } = stream;
  const hour = ms(api.time.now - (api.time.now % 3_600_000));
  const counts = { ...NO_USAGE, views: 3, watchedMs: 90_000, transcodedMs: 60_000 };
  await api.store.usage.count([{ hour, playbackId, countedBy: 'x', counts }]);
  assert.deepEqual((await metrics.getPublicViewership(playbackId)).data, {
    playbackId,
    viewCount: 3,
    playtimeMins: 1.5,
  });
  const from = new Date(api.time.now - 3_600_000);
  const query = {
    playbackId,
    from,
    to: api.time.now,
    timeStep: TimeStep.Hour,
    breakdownBy: [QueryParamBreakdownBy.PlaybackId],
  };
  assert.deepEqual((await metrics.getViewership(query)).data, [
    { playbackId, timestamp: hour, viewCount: 3, playtimeMins: 1.5 },
  ]);
  const usage = await metrics.getUsage({ from: from.getTime() });
  assert.deepEqual(usage.usageMetric, {
    userID: ann.userId,
    deliveryUsageMins: 1.5,
    totalUsageMins: 1,
    storageUsageMins: 0,
  });
});

test('what is not supported yet fails in the official client with 501 and an explanation', async (t) => {
  const api = await startApi(t);
  const { secret } = await api.makeKey('ann');
  const serverURL = `${await api.http.listen({ host: '127.0.0.1', port: 0 })}/api`;
  const client = new Livepeer({ apiKey: secret, serverURL });
  const file = new Blob(['x']);
  const calls: Record<string, () => Promise<unknown>> = {
    'stream.startPull': () => client.stream.startPull('x'),
    'stream.addMultistreamTarget': () => client.stream.addMultistreamTarget({ profile: 'source' }, 'x'),
    'stream.removeMultistreamTarget': () => client.stream.removeMultistreamTarget('x', 'y'),
    'metrics.getCreatorViewership': () => client.metrics.getCreatorViewership({ creatorId: 'x' }),
    'multistream.getAll': () => client.multistream.getAll(),
    'multistream.create': () => client.multistream.create({ url: 'rtmp://example.com/live' }),
    'multistream.get': () => client.multistream.get('x'),
    'multistream.update': () => client.multistream.update({ url: 'rtmp://example.com/live' }, 'x'),
    'multistream.delete': () => client.multistream.delete('x'),
    'asset.create': () => client.asset.create({ name: 'x' }),
    'asset.createViaUrl': () => client.asset.createViaUrl({ name: 'x', url: 'https://example.com/x.mp4' }),
    'room.create': () => client.room.create(),
    'room.get': () => client.room.get('x'),
    'room.delete': () => client.room.delete('x'),
    'room.startEgress': () => client.room.startEgress({ streamId: 'x' }, 'x'),
    'room.stopEgress': () => client.room.stopEgress('x'),
    'room.createUser': () => client.room.createUser({ name: 'x' }, 'x'),
    'room.getUser': () => client.room.getUser('x', 'y'),
    'room.updateUser': () => client.room.updateUser({}, 'x', 'y'),
    'room.deleteUser': () => client.room.deleteUser('x', 'y'),
    'transcode.create': () =>
      client.transcode.create({
        input: { url: 'https://example.com/x.mp4' },
        storage: { type: 'web3.storage' as never, credentials: { proof: 'x' } },
        outputs: {},
      }),
    'generate.textToImage': () => client.generate.textToImage({ prompt: 'x' }),
    'generate.imageToImage': () => client.generate.imageToImage({ image: file, prompt: 'x' }),
    'generate.imageToVideo': () => client.generate.imageToVideo({ image: file }),
    'generate.upscale': () => client.generate.upscale({ image: file, prompt: 'x' }),
    'generate.audioToText': () => client.generate.audioToText({ audio: file }),
    'generate.segmentAnything2': () => client.generate.segmentAnything2({ image: file }),
    'generate.llm': () => client.generate.llm({ prompt: 'x' }),
  };
  for (const [name, call] of Object.entries(calls)) {
    await assert.rejects(
      call,
      ({ statusCode, body }: { statusCode?: number; body?: string }) => {
        const { code, errors } = JSON.parse(body ?? '{}') as { code?: string; errors?: string[] };
        assert.deepEqual([statusCode, code], [501, 'not_implemented'], name);
        assert.match(errors?.[0] ?? '', /^[A-Z].* (is|are) not supported yet; see \/docs\/streams-and-sessions#/);
        return true;
      },
      name,
    );
  }
  const built = [
    ...['create', 'getAll', 'get', 'update', 'delete', 'terminate'].map((method) => `stream.${method}`),
    ...['createClip', 'getClips'].map((method) => `stream.${method}`),
    ...['getAll', 'get', 'getRecorded', 'getClips'].map((method) => `session.${method}`),
    ...['getAll', 'get', 'update', 'delete'].map((method) => `asset.${method}`),
    ...['getAll', 'get'].map((method) => `task.${method}`),
    ...['create', 'getAll', 'get', 'update', 'delete'].map((method) => `accessControl.${method}`),
    ...['getRealtimeViewership', 'getViewership', 'getPublicViewership', 'getUsage'].map(
      (method) => `metrics.${method}`,
    ),
    'playback.get',
    ...['create', 'getAll', 'get', 'update', 'delete', 'getLogs', 'getLog', 'resendLog'].map(
      (method) => `webhook.${method}`,
    ),
  ];
  assert.deepEqual(methodsOf(client), [...Object.keys(calls), ...built].toSorted(), 'no method is left out');
});

/** Every method that the client has. */
function methodsOf(client: Livepeer): string[] {
  const parts = Object.entries(Object.getOwnPropertyDescriptors(Livepeer.prototype)).filter(
    ([, descriptor]) => descriptor.get !== undefined,
  );
  return parts
    .flatMap(([part]) => {
      const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(client[part as keyof Livepeer]));
      return methods.filter((name) => name !== 'constructor').map((name) => `${part}.${name}`);
    })
    .toSorted();
}
