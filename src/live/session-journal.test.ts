import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newNodeId, newUserId, type StreamId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someSession, someStream } from '#test/support/sample-records.ts';
import { type JournalOwner, SessionJournal } from './session-journal.ts';

const session = someSession(someStream(newUserId()));

/** A journal over a store whose calls the test answers one by one. */
function setUp(owner?: JournalOwner) {
  const calls: {
    readonly call: string;
    readonly value: unknown;
    readonly writer: unknown;
    readonly settle: (outcome?: Error | false) => void;
  }[] = [];
  const called = (call: string, value: unknown, writer: unknown) => {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const settle = (outcome: Error | boolean = true) => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
    calls.push({ call, value, writer, settle });
    return promise;
  };
  const store = {
    streams: { setActivity: (_id: string, activity: object, writer: unknown) => called('activity', activity, writer) },
    sessions: {
      create: (created: Session, writer: unknown) => called('create', created, writer),
      change: (_id: string, change: object, writer: unknown) => called('change', change, writer),
      resume: (_session: object, change: object, writer: unknown) => called('resume', change, writer),
    },
    events: { add: ([event]: readonly object[]) => called('event', event, undefined) },
  } as unknown as Store;
  const clock = { now: () => ms(7), monotonic: () => ms(0) };
  return { journal: new SessionJournal({ store, logger: silentLogger, clock, owner }), calls };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('changes during a write are merged into one more write', async () => {
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
      { isActive: true, lastSeen: 1, health: undefined, at: 7 },
      { isActive: false, lastSeen: 3, health: undefined, at: 7 },
    ],
  );
});

for (const code of ['store_unavailable', 'outcome_unknown'] as const) {
  test(`a write that ended in ${code} is repeated`, async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const { journal, calls } = setUp();
    journal.created(session);
    calls[0]!.settle(new MillraceError(code, 'The store is down.'));
    await turn();
    assert.equal(calls.length, 1);
    context.mock.timers.tick(1000);
    await turn();
    assert.equal(calls.length, 2);
    assert.equal(calls[1]!.call, 'create');
  });
}

test('every write names its node when processes share the store', async () => {
  const nodeId = newNodeId();
  const { journal, calls } = setUp({ nodeId, onLost: () => assert.fail('no stream is lost') });
  journal.activity(session.streamId, { isActive: true, lastSeen: ms(1), health: undefined });
  journal.created(session);
  for (const index of [0, 1]) {
    calls[index]!.settle();
    await turn();
  }
  journal.changed(session, { viewers: 1 });
  // The store answers that the session belongs to another node. The write is not repeated, and no stream is lost.
  calls[2]!.settle(false);
  await turn();
  assert.deepEqual(
    calls.map(({ call, writer }) => [call, writer === nodeId]),
    [
      ['activity', true],
      ['create', true],
      ['change', true],
    ],
  );
});

test('a session that another node has ended is resumed, and is lost when that node has taken its stream', async () => {
  const lost: StreamId[] = [];
  const { journal, calls } = setUp({ nodeId: newNodeId(), onLost: (streamId) => lost.push(streamId) });
  journal.changed(session, { viewers: 1 });
  journal.resumed(session, { phase: 'live' });
  calls[0]!.settle(false);
  await turn();
  assert.deepEqual([calls[1]?.call, calls[1]?.value], ['resume', { viewers: 1, phase: 'live' }]);
  assert.deepEqual(lost, []);
  calls[1]!.settle(false);
  await turn();
  assert.deepEqual(lost, [session.streamId]);
  assert.equal(calls.length, 2);
});

test('disposing writes the remaining steps, and stops at a store that does not accept them', async () => {
  const { journal, calls } = setUp();
  journal.created(session);
  const disposed = journal[Symbol.asyncDispose]();
  calls[0]!.settle(new MillraceError('store_unavailable', 'The store is down.'));
  await disposed;
  assert.equal(calls.length, 1);
});

/** Answers every call as it comes, and returns the calls once no more come. */
async function settleAll({ calls }: ReturnType<typeof setUp>) {
  for (let index = 0; index < calls.length; index += 1) {
    calls[index]!.settle();
    await turn();
  }
  return calls.map(({ call, value }): Record<string, unknown> => ({ ...(value as object), call }));
}

test('transitions during a write are all written, in their order', async () => {
  const fixture = setUp();
  const { journal } = fixture;
  const activity = (isActive: boolean) =>
    journal.activity(session.streamId, { isActive, lastSeen: ms(1), health: undefined });
  const second = someSession(someStream(session.userId, { id: session.streamId }));
  activity(true);
  journal.created(session);
  journal.changed(session, { viewers: 3 });
  activity(true);
  activity(false);
  journal.changed(session, { phase: 'ended', endReason: 'unpublished' });
  journal.changed(session, { viewers: 4 });
  activity(true);
  journal.created(second);
  const written = await settleAll(fixture);
  assert.deepEqual(
    written.map(({ call, isActive, id, phase, viewers }) => [call, isActive ?? id ?? phase, viewers]),
    [
      ['activity', true, undefined],
      ['create', session.id, 3],
      ['activity', false, undefined],
      ['change', 'ended', 4],
      ['activity', true, undefined],
      ['create', second.id, 0],
    ],
  );
});

test('when a stream has too many steps, the oldest are dropped, an event reports it, and its sessions are still written', async () => {
  const fixture = setUp();
  const { journal } = fixture;
  journal.activity(session.streamId, { isActive: true, lastSeen: ms(1), health: undefined });
  journal.created(session);
  for (let index = 0; index < 400; index += 1) {
    journal.activity(session.streamId, { isActive: index % 2 === 1, lastSeen: ms(index), health: undefined });
  }
  journal.changed(session, { phase: 'ended', endReason: 'unpublished' });
  const written = await settleAll(fixture);
  const [, second, ...rest] = written;
  assert.equal(second?.call, 'event');
  assert.equal(second.type, 'events.dropped');
  const { count } = second.payload as { count: number };
  assert.equal(rest.filter(({ call }) => call === 'activity').length, 400 - count);
  assert.ok(count > 100 && written.length <= 258, `${count} dropped, ${written.length} written`);
  const sessions = rest.filter(({ call }) => call !== 'activity');
  assert.deepEqual(
    sessions.map(({ call, phase }) => [call, phase]),
    [['create', 'ended']],
  );
});

test('an end that comes after a session was continued is written as an end', async () => {
  const fixture = setUp({ nodeId: newNodeId(), onLost: () => assert.fail('no stream is lost') });
  const { journal } = fixture;
  journal.changed(session, { viewers: 1 });
  journal.resumed(session, { phase: 'live' });
  journal.changed(session, { phase: 'ended', endReason: 'unpublished' });
  const written = await settleAll(fixture);
  assert.deepEqual(
    written.map(({ call, phase }) => [call, phase]),
    [
      ['change', undefined],
      ['resume', 'live'],
      ['change', 'ended'],
    ],
  );
});
