import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { PassThrough, type Writable } from 'node:stream';
import { test } from 'node:test';
import type { ServiceEvent } from '#domain/events.ts';
import { newEventId, newStreamId, newUserId } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { PacedTurns } from '#lib/paced-turns.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { EventReader } from './event-reader.ts';
import { EventTail, frameOf } from './event-tail.ts';

const userId = newUserId();

function eventOf(sequence: number): ServiceEvent {
  return {
    id: newEventId(),
    type: 'stream.updated',
    at: ms(1),
    userId,
    streamId: newStreamId(),
    sessionId: undefined,
    payload: { fields: ['x'.repeat(1000)] },
    sequence,
  };
}

/** A list of events that a test adds to, as the store has it. */
function setUp() {
  const list: ServiceEvent[] = [];
  let listener: (announcement: { type: 'events_added' }) => void = () => {};
  const waiting: (() => void)[] = [];
  let isHeld = false;
  const store = {
    events: {
      last: async () => list.at(-1)?.sequence ?? 0,
      list: async (_scope: unknown, { limit, after = 0 }: { limit: number; after?: number }) => {
        const found = list.filter(({ sequence }) => sequence > after).slice(0, limit);
        if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
        return found;
      },
    },
    listen: (listening: typeof listener) => {
      listener = listening;
      return { [Symbol.dispose]: () => {} };
    },
  } as unknown as Pick<Store, 'events' | 'listen'>;
  return {
    store,
    add: (...sequences: number[]) => {
      list.push(...sequences.map(eventOf));
      listener({ type: 'events_added' });
    },
    hold: () => (isHeld = true),
    release: () => {
      isHeld = false;
      for (const go of waiting.splice(0)) go();
    },
  };
}

/** Turns without pauses. */
const freely = () => new PacedTurns({ share: 1, clock: systemClock });

const turns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** Reads what is written, and gives the ids so far. */
function idsOf(output: PassThrough): () => number[] {
  let text = '';
  output.on('data', (bytes: Buffer) => (text += bytes.toString()));
  return () => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
}

test('events that come while older ones are being read are neither lost nor written twice', async () => {
  const { store, add, hold, release } = setUp();
  add(1, 2, 5);
  using tail = new EventTail(store);
  const output = new PassThrough();
  const ids = idsOf(output);
  const reader = new EventReader({ userId, scope: userId, filter: {}, after: 1, store, turns: freely(), output });
  using _ = tail.add(reader);
  await tail.ready();
  hold();
  const caughtUp = reader.catchUp();
  await turns();
  // The page that is being read does not have them any more.
  add(7, 8);
  await turns();
  release();
  await caughtUp;
  add(9);
  await turns();
  assert.deepEqual(ids(), [2, 5, 7, 8, 9]);
});

test('a reader that takes nothing is disconnected once too much waits for it', async () => {
  const { store, add } = setUp();
  using tail = new EventTail(store);
  const output = new PassThrough({ highWaterMark: 16 });
  const reader = new EventReader({ userId, scope: userId, filter: {}, after: 0, store, turns: freely(), output });
  using _ = tail.add(reader);
  await tail.ready();
  await reader.catchUp();
  const size = frameOf(eventOf(1)).length;
  const fitting = Math.floor((256 * 1024) / size);
  const half = Math.floor(fitting / 2);
  add(...Array.from({ length: half }, (__, index) => index + 1));
  await turns();
  assert.equal(output.destroyed, false);
  add(...Array.from({ length: fitting }, (__, index) => half + index + 1));
  await turns();
  assert.equal(output.destroyed, true);
});

test('the first reader misses nothing that happens while the tail begins', async () => {
  const { store, add } = setUp();
  add(1);
  using tail = new EventTail(store);
  const output = new PassThrough();
  const ids = idsOf(output);
  const reader = new EventReader({ userId, scope: userId, filter: {}, after: 1, store, turns: freely(), output });
  using _ = tail.add(reader);
  add(2);
  await tail.ready();
  add(3);
  await reader.catchUp();
  add(4);
  await turns();
  assert.deepEqual(ids(), [2, 3, 4]);
});

test('a reader of a long history gets its first events at once, and takes turns with others for the rest', async () => {
  const { store, add } = setUp();
  add(...Array.from({ length: 500 }, (_, index) => index + 1));
  const holders: string[] = [];
  const free = freely();
  const counted = {
    run: (holder: string, work: () => Promise<boolean>) => {
      holders.push(holder);
      return free.run(holder, work);
    },
  } as PacedTurns;
  const output = new PassThrough();
  const ids = idsOf(output);
  const reader = new EventReader({ userId, scope: 'everyone', filter: {}, after: 0, store, turns: counted, output });
  const short = new EventReader({
    userId,
    scope: userId,
    filter: {},
    after: 490,
    store,
    turns: counted,
    output: new PassThrough(),
  });
  await short.catchUp();
  assert.deepEqual(holders, []);
  await reader.catchUp();
  await turns();
  assert.equal(ids().length, 500);
  assert.deepEqual(holders, [userId, userId, userId]);
});

test('nothing more is read for a reader that left over HTTP/2, however long the history is', async (t) => {
  let calls = 0;
  const endless = {
    events: {
      list: async (_scope: unknown, { limit, after }: { limit: number; after: number }) => {
        calls += 1;
        return Array.from({ length: limit }, (__, index) => eventOf(after + index + 1));
      },
    },
  } as unknown as Pick<Store, 'events'>;
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => client.destroy());
  const request = client.request({ ':path': '/' });
  const [, response] = (await once(server, 'request')) as [unknown, Http2ServerResponse];
  const output = response as unknown as Writable;
  const reader = new EventReader({
    userId,
    scope: userId,
    filter: {},
    after: 0,
    store: endless,
    turns: freely(),
    output,
  });
  let isOver = false;
  void reader.catchUp().then(() => (isOver = true));
  await once(request, 'data');
  request.close();
  await once(response, 'close');
  const before = calls;
  await waitFor(() => isOver, { what: 'the end of catching up' });
  assert.equal(calls, before);
});
