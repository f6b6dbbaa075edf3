import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newUserId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someSession, someStream } from '#test/support/sample-records.ts';
import { SessionJournal } from './session-journal.ts';

const session = someSession(someStream(newUserId()));

/** A journal over a store whose calls the test lets through one by one. */
function setUp() {
  const calls: { readonly call: string; readonly value: unknown; readonly settle: (error?: Error) => void }[] = [];
  const called = (call: string, value: unknown) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    calls.push({ call, value, settle: (error) => (error === undefined ? resolve() : reject(error)) });
    return promise;
  };
  const store = {
    streams: { setActivity: (_id: string, activity: object) => called('activity', activity) },
    sessions: {
      create: (created: Session) => called('create', created),
      change: (_id: string, change: object) => called('change', change),
    },
  } as unknown as Store;
  return { journal: new SessionJournal(store, silentLogger), calls };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('what happens while a write is under way is merged into one more', async () => {
  const { journal, calls } = setUp();
  journal.created(session);
  journal.changed(session, { phase: 'live' });
  journal.changed(session, { phase: 'reconnecting', reconnectUntil: ms(9) });
  journal.changed(session, { phase: 'live', reconnectUntil: undefined });
  assert.equal(calls.length, 1);
  calls[0]!.settle();
  await turn();
  assert.deepEqual(
    calls.map(({ call }) => call),
    ['create', 'change'],
  );
  assert.deepEqual(calls[1]!.value, { phase: 'live', reconnectUntil: undefined });
});

test('only the latest activity is written', async () => {
  const { journal, calls } = setUp();
  for (const lastSeen of [1, 2, 3])
    journal.activity(session.streamId, { isActive: lastSeen < 3, lastSeen: ms(lastSeen), health: undefined });
  calls[0]!.settle();
  await turn();
  calls[1]!.settle();
  await turn();
  assert.deepEqual(
    calls.map(({ value }) => value),
    [
      { isActive: true, lastSeen: 1, health: undefined },
      { isActive: false, lastSeen: 3, health: undefined },
    ],
  );
});

test('a store that is away is tried again', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { journal, calls } = setUp();
  journal.created(session);
  calls[0]!.settle(new MillraceError('store_unavailable', 'The store is away.'));
  await turn();
  assert.equal(calls.length, 1);
  context.mock.timers.tick(1000);
  await turn();
  assert.equal(calls.length, 2);
  assert.equal(calls[1]!.call, 'create');
});

test('disposing writes what is left, and gives up on a store that does not take it', async () => {
  const { journal, calls } = setUp();
  journal.created(session);
  const disposed = journal[Symbol.asyncDispose]();
  calls[0]!.settle(new MillraceError('store_unavailable', 'The store is away.'));
  await disposed;
  assert.equal(calls.length, 1);
});
