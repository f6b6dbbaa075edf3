import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import type { StreamId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { someSession } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

interface EventObject {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly streamId: string;
  readonly sessionId?: string;
  readonly createdAt: number;
  readonly payload: Record<string, unknown>;
}

async function events(api: TestApi, key: TestKey, query = ''): Promise<EventObject[]> {
  const response = await api.call('GET', `/event${query}`, { key });
  assert.equal(response.statusCode, 200, response.body);
  return response.json();
}

/** Waits until a user has this many events, and returns them oldest first. */
const untilThereAre = (api: TestApi, key: TestKey, count: number) =>
  waitFor(
    async () => {
      const found = await events(api, key, '?order=createdAt-false&limit=1000');
      return found.length >= count && found;
    },
    { what: `${count} events` },
  );

async function newStream(api: TestApi, key: TestKey, name = 'a'): Promise<string> {
  const response = await api.call('POST', '/stream', { key, body: { name, profiles: [] } });
  assert.equal(response.statusCode, 201, response.body);
  return response.json().id;
}

test('every change of a stream and its sessions is an event, in order', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const id = (await newStream(api, key, 'show')) as StreamId;
  await api.call('PATCH', `/stream/${id}`, { key, body: { name: 'other', creatorId: 'me' } });
  const activity = { lastSeen: ms(5), health: undefined };
  for (const isActive of [true, true]) await api.store.streams.setActivity(id, { ...activity, isActive, at: ms(7) });
  const stream = (await api.store.streams.get(id, 'everyone'))!;
  const session = someSession(stream, { phase: 'live', createdAt: ms(6) });
  await api.store.sessions.create(session, undefined, ms(8));
  const totals = { ...session.totals, sourceBytes: 12, sourceSegmentsDuration: 1.5, peakViewers: 3 };
  const end = { phase: 'ended', endedAt: ms(9), endReason: 'unpublished', totals } as const;
  for (const _ of [1, 2]) await api.store.sessions.change(session.id, end);
  await api.store.streams.setActivity(id, { ...activity, isActive: false, at: ms(10) });
  await api.call('DELETE', `/stream/${id}`, { key });

  const found = await untilThereAre(api, key, 7);
  const { playbackId } = stream;
  assert.deepEqual(
    found.map(({ type, payload }) => [type, payload]),
    [
      ['stream.created', { name: 'show', playbackId }],
      ['stream.updated', { fields: ['name', 'creatorId'] }],
      ['stream.started', {}],
      ['session.started', { isResumed: false }],
      [
        'session.ended',
        {
          reason: 'unpublished',
          startedAt: 6,
          endedAt: 9,
          sourceBytes: 12,
          sourceSegments: 0,
          sourceSegmentsDuration: 1.5,
          transcodedBytes: 0,
          transcodedSegments: 0,
          transcodedSegmentsDuration: 0,
          peakViewers: 3,
        },
      ],
      ['stream.idle', {}],
      ['stream.deleted', {}],
    ],
  );
  assert.deepEqual(
    found.slice(2, 6).map(({ createdAt, sessionId }) => [createdAt, sessionId]),
    [
      [7, undefined],
      [8, session.id],
      [9, session.id],
      [10, undefined],
    ],
  );
  assert.ok(found.every(({ streamId }) => streamId === id));
  assert.ok(found.every(({ sequence }, index) => index === 0 || sequence > found[index - 1]!.sequence));
});

test('events are filtered by type, stream and time, and read page by page in both directions', async (t) => {
  const api = await startApi(t);
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const [one, two] = [await newStream(api, ann), await newStream(api, ann)];
  await newStream(api, bob);
  for (let index = 0; index < 6; index += 1) {
    await api.call('PATCH', `/stream/${index % 2 === 0 ? one : two}`, { key: ann, body: { name: `${index}` } });
  }
  const all = await untilThereAre(api, ann, 8);
  assert.equal((await events(api, ann, '?type=stream.updated')).length, 6);
  assert.equal((await events(api, ann, `?streamId=${one}`)).length, 4);
  assert.equal((await events(api, ann, `?streamId=${one}&type=stream.created`)).length, 1);
  assert.equal((await events(api, bob, `?streamId=${one}`)).length, 0, "somebody else's stream");
  const after = all[4]!.sequence;
  assert.deepEqual(await events(api, ann, `?order=createdAt-false&after=${after}`), all.slice(5));
  const now = await api.store.events.last();
  assert.ok(now >= all.at(-1)!.sequence);
  assert.equal((await events(api, ann, `?from=${Date.now() + 60_000}`)).length, 0);
  assert.equal((await events(api, ann, `?from=${Date.now() - 60_000}&to=${Date.now() + 60_000}`)).length, 8);
  assert.equal((await events(api, ann, `?to=${Date.now() - 60_000}`)).length, 0);

  const walked: EventObject[] = [];
  let path: string | undefined = '/event?limit=3';
  while (path !== undefined) {
    const response = await api.call('GET', path, { key: ann });
    walked.push(...response.json());
    path = /\/api([^>]*)>/.exec(String(response.headers.link ?? ''))?.[1];
  }
  assert.deepEqual(walked, all.toReversed());

  const admin = await api.makeKey('admin');
  assert.equal((await events(api, admin, '?all=1&limit=100')).length, 9);
  assert.equal((await api.call('GET', '/event?all=1&type=stream.created', { key: admin })).statusCode, 400);
  for (const wrong of ['type=x', 'streamId=x', 'order=x', 'from=-1']) {
    assert.equal((await api.call('GET', `/event?${wrong}`, { key: ann })).statusCode, 400, wrong);
  }
});

/** A reader of the stream of events, over a socket of its own. */
async function read(key: TestKey, port: number, { lastEventId = '', query = '' } = {}) {
  const socket: Socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString()));
  const resumed = lastEventId === '' ? '' : `last-event-id: ${lastEventId}\r\n`;
  socket.write(
    `GET /api/event/stream${query} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.secret}\r\n${resumed}\r\n`,
  );
  await waitFor(() => text.includes('retry: 1000'), { what: 'the answer' });
  return {
    socket,
    get text() {
      return text;
    },
    /** The sequence numbers in the order in which they came. */
    get ids() {
      return [...text.matchAll(/^id: (\d+)\nevent: /gm)].map(([, id]) => Number(id));
    },
    get types() {
      return [...text.matchAll(/^event: (.+)$/gm)].map(([, type]) => type);
    },
  };
}

test('events are streamed as they happen, and a reader that reconnects gets the missed ones once', async (t) => {
  const api = await startApi(t);
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const port = Number(new URL(await api.http.listen({ host: '127.0.0.1', port: 0 })).port);
  await newStream(api, ann, 'before');
  await untilThereAre(api, ann, 1);
  const reader = await read(ann, port);
  assert.match(reader.text, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(reader.text, /content-type: text\/event-stream/);
  assert.match(reader.text, /access-control-allow-origin: \*/);
  const stream = await newStream(api, ann, 'live');
  await newStream(api, bob);
  await waitFor(() => reader.ids.length === 1, { what: 'the event' });
  const [, data] = /^data: (.+)$/m.exec(reader.text)!;
  assert.deepEqual(JSON.parse(data!), (await events(api, ann, '?limit=1'))[0]);
  const [seen] = reader.ids;
  reader.socket.destroy();

  for (const name of ['1', '2', '3']) await api.call('PATCH', `/stream/${stream}`, { key: ann, body: { name } });
  await untilThereAre(api, ann, 5);
  const back = await read(ann, port, { lastEventId: String(seen) });
  await waitFor(() => back.ids.length === 3, { what: 'what was missed' });
  await api.call('PATCH', `/stream/${stream}`, { key: ann, body: { name: '4' } });
  await waitFor(() => back.ids.length === 4, { what: 'what comes next' });
  const all = (await events(api, ann, '?order=createdAt-false')).map(({ sequence }) => sequence);
  assert.deepEqual([seen, ...back.ids], all.slice(1));

  const filtered = await read(ann, port, { lastEventId: '0', query: '?type=stream.created' });
  await newStream(api, ann, 'third');
  await waitFor(() => filtered.types.length === 3, { what: 'the filtered events' });
  assert.deepEqual(new Set(filtered.types), new Set(['stream.created']));
  for (const { socket } of [back, filtered]) socket.destroy();
});

test('HEAD is answered with the headers of the stream, and takes no place of the quota', async (t) => {
  const api = await startApi(t, { MILLRACE_QUOTA_EVENT_STREAMS: '1' });
  const key = await api.makeKey('ann');
  const url = await api.http.listen({ host: '127.0.0.1', port: 0 });
  const headers = { authorization: `Bearer ${key.secret}` };
  for (const _ of [1, 2]) {
    const { status, headers: answered } = await fetch(`${url}/api/event/stream`, { method: 'HEAD', headers });
    assert.deepEqual([status, answered.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
  }
});

test('a reader that lost its connection before its first event gets what it missed', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const port = Number(new URL(await api.http.listen({ host: '127.0.0.1', port: 0 })).port);
  await newStream(api, ann, 'before');
  await untilThereAre(api, ann, 1);
  const reader = await read(ann, port);
  const [, lastEventId] = /^id: (\d+)\nretry: /m.exec(reader.text) ?? [];
  reader.socket.destroy();
  await newStream(api, ann, 'missed');
  await untilThereAre(api, ann, 2);
  const back = await read(ann, port, { lastEventId });
  await waitFor(() => back.ids.length === 1, { what: 'what was missed' });
  back.socket.destroy();
});

/** Whether the answer is complete. */
const hasEnded = ({ text }: { readonly text: string }) => text.endsWith('\r\n0\r\n\r\n');

test('a reader is disconnected when its API key is revoked, and when the server stops', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const api = await startApi(t);
  const [key, other] = [await api.makeKey('ann'), await api.makeKey('ann', 'other')];
  const port = Number(new URL(await api.http.listen({ host: '127.0.0.1', port: 0 })).port);
  const [revoked, left] = [await read(key, port), await read(other, port)];
  await api.revoke(key);
  t.mock.timers.tick(15_000);
  await waitFor(() => hasEnded(revoked), { what: 'the end for the revoked key' });
  assert.ok(!hasEnded(left) && left.text.includes('\n:\n\n'), 'the other reader goes on');
  t.mock.timers.reset();
  await api.http.close();
  await waitFor(() => hasEnded(left), { what: 'the end with the server' });
});

test('an admin who is demoted is disconnected from the events of others, and not from their own', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const api = await startApi(t);
  const [admin, ann, bob] = [await api.makeKey('admin'), await api.makeKey('ann'), await api.makeKey('bob')];
  const changeAnn = (body: object) => api.call('PATCH', `/user/${ann.userId}`, { key: admin, body });
  assert.equal((await changeAnn({ admin: true })).statusCode, 204);
  const port = Number(new URL(await api.http.listen({ host: '127.0.0.1', port: 0 })).port);
  const [own, all, bobs] = [
    await read(ann, port),
    await read(ann, port, { query: '?all=1' }),
    await read(ann, port, { query: `?userId=${bob.userId}` }),
  ];
  assert.equal((await changeAnn({ admin: false })).statusCode, 204);
  t.mock.timers.tick(1000);
  for (const reader of [all, bobs]) await waitFor(() => hasEnded(reader), { what: 'the end for the former admin' });
  await newStream(api, bob);
  await newStream(api, ann);
  await waitFor(() => own.ids.length === 1, { what: 'the next event of the former admin' });
  assert.deepEqual([all.ids, bobs.ids], [[], []]);
  own.socket.destroy();
});

test('a user may have as many event streams open as its quota', async (t) => {
  const api = await startApi(t, { MILLRACE_QUOTA_EVENT_STREAMS: '1' });
  const key = await api.makeKey('ann');
  const port = Number(new URL(await api.http.listen({ host: '127.0.0.1', port: 0 })).port);
  const first = await read(key, port);
  const refused = await api.call('GET', '/event/stream', { key });
  assert.deepEqual([refused.statusCode, refused.json().code], [403, 'quota_exceeded']);
  first.socket.destroy();
  await waitFor(async () => (await api.metrics.registry.metrics()).includes('millrace_event_streams_count 0'), {
    what: 'the reader to be gone',
  });
  (await read(key, port)).socket.destroy();
});

test('an event stream that an admin opens for a user takes a place of the quota of the admin, not of the user', async (t) => {
  const api = await startApi(t, { MILLRACE_QUOTA_EVENT_STREAMS: '1' });
  const [admin, ann] = [await api.makeKey('admin'), await api.makeKey('ann')];
  const quotas = { quotas: { eventStreams: 1 } };
  assert.equal((await api.call('PATCH', `/user/${admin.userId}`, { key: admin, body: quotas })).statusCode, 204);
  const port = Number(new URL(await api.http.listen({ host: '127.0.0.1', port: 0 })).port);
  const readers = [await read(admin, port, { query: `?userId=${ann.userId}` }), await read(ann, port)];
  for (const query of ['', '?all=1', `?userId=${ann.userId}`]) {
    const refused = await api.call('GET', `/event/stream${query}`, { key: admin });
    assert.deepEqual([refused.statusCode, refused.json().code], [403, 'quota_exceeded'], query);
  }
  for (const { socket } of readers) socket.destroy();
});

test('event streams that are opened together do not exceed the quota', async (t) => {
  const api = await startApi(t, { MILLRACE_QUOTA_EVENT_STREAMS: '2' });
  const key = await api.makeKey('ann');
  const url = await api.http.listen({ host: '127.0.0.1', port: 0 });
  const leaving = new AbortController();
  t.after(() => leaving.abort());
  const headers = { authorization: `Bearer ${key.secret}` };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => fetch(`${url}/api/event/stream`, { headers, signal: leaving.signal })),
  );
  const having = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
  assert.deepEqual([having(200), having(403)], [2, 6]);
});

/** A store whose events cannot be read. */
const awayStore = (store: Store): Store => ({
  ...store,
  events: { ...store.events, list: () => Promise.reject(new Error('away')) },
});

test('a reader is disconnected when the store cannot be read, so that it reconnects', async (t) => {
  const api = await startApi(t, {}, awayStore);
  const key = await api.makeKey('ann');
  const port = Number(new URL(await api.http.listen({ host: '127.0.0.1', port: 0 })).port);
  const reader = await read(key, port);
  await waitFor(() => reader.socket.destroyed, { what: 'the reader to be disconnected' });
});

test('somebody who leaves before the answer begins takes no place of the quota', async (t) => {
  const asked = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const slowStore = (store: Store): Store => ({
    ...store,
    events: {
      ...store.events,
      last: async () => {
        asked.resolve();
        await gone.promise;
        return await store.events.last();
      },
    },
  });
  const api = await startApi(t, { MILLRACE_QUOTA_EVENT_STREAMS: '1' }, slowStore);
  const key = await api.makeKey('ann');
  const port = Number(new URL(await api.http.listen({ host: '127.0.0.1', port: 0 })).port);
  const leaver = connect(port, '127.0.0.1');
  leaver.write(`GET /api/event/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.secret}\r\n\r\n`);
  await asked.promise;
  leaver.destroy();
  await waitFor(async () => (await connectionsOf(api)) === 0, { what: 'the server to notice that the reader left' });
  gone.resolve();
  const reader = await read(key, port);
  assert.match(reader.text, /^HTTP\/1\.1 200 OK\r\n/);
  reader.socket.destroy();
});

const connectionsOf = async ({ http }: TestApi) => {
  const counted = Promise.withResolvers<number>();
  http.server.getConnections((_error, count) => counted.resolve(count));
  return await counted.promise;
};
