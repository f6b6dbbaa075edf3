import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Asset } from '#domain/asset.ts';
import { type AssetId, newUserId } from '#domain/ids.ts';
import type { Session, SessionState } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import { ms } from '#lib/units.ts';
import type { SessionChange, Store } from '#store/store.ts';
import { SOME_NODE, someClip, someSession, someStream } from '#test/support/sample-records.ts';
import { adoptOrphans } from './orphans.ts';
import type { SessionJournal } from './session-journal.ts';
import type { SessionRegistry } from './session-registry.ts';

const NOW = 1_700_000_100_000;

/** Adopts the sessions left in a store. Returns what was done with each, in order. */
async function adopt(...left: readonly Session[]) {
  return adoptFrom({}, ...left);
}

/**
 * Like {@link adopt}. @param isShared whether other processes share the store @param isLost whether another node has ended the sessions in
 * the meantime
 */
async function adoptFrom(
  { isShared = false, isLost = false, active = [] as readonly Stream[], assets = [] as readonly Asset[] },
  ...left: readonly Session[]
) {
  const told: { readonly what: string; readonly session: string; readonly value: unknown }[] = [];
  const tell = (what: string, session: string, value: unknown) => void told.push({ what, session, value });
  await adoptOrphans({
    store: {
      isShared,
      streams: {
        active: async (node?: string) => (node === (isShared ? SOME_NODE : undefined) ? active : []),
        setActivity: async (id: string, activity: object, writer?: string) => {
          assert.equal(writer, isShared ? SOME_NODE : undefined);
          tell('set idle', id, activity);
        },
      },
      sessions: {
        ofNode: async (node: string, phases: readonly string[]) =>
          left.filter(({ nodeId, phase }) => nodeId === node && phases.includes(phase)),
        change: async (id: string, change: SessionChange, writer?: string) => {
          assert.equal(writer, isShared ? SOME_NODE : undefined);
          tell('stored', id, change);
          return !isLost;
        },
      },
      assets: {
        getMany: async (ids: readonly AssetId[]) => assets.filter(({ id }) => ids.includes(id)),
      },
    } as unknown as Store,
    nodeId: SOME_NODE,
    registry: {
      restore: (record: Session, state: SessionState, { isRecorded }: { readonly isRecorded: boolean }) =>
        tell('restored', record.id, { restarts: record.restarts, state, ...(isRecorded && { isRecorded }) }),
    } as unknown as SessionRegistry,
    journal: {
      activity: (id: string, activity: object) => tell('activity', id, activity),
      changed: ({ id }: Session, change: SessionChange) => tell('changed', id, change),
    } as unknown as SessionJournal,
    clock: { now: () => ms(NOW), monotonic: () => ms(0) },
    reconnectWindowS: 30,
  });
  return told;
}

const stream = someStream(newUserId());

/** A session whose process was killed a moment ago. */
const leftSession = (change: Partial<Session>) => someSession(stream, { lastSeen: ms(NOW - 1000), ...change });

for (const phase of ['starting', 'live'] as const) {
  test(`a session that was ${phase} waits for its publisher, and its restart counter is written before it is shown`, async () => {
    const session = leftSession({ phase, restarts: 3 });
    const until = ms(NOW + 30_000);
    assert.deepEqual(await adopt(session), [
      {
        what: 'activity',
        session: stream.id,
        value: { isActive: false, lastSeen: session.lastSeen, health: undefined },
      },
      { what: 'stored', session: session.id, value: { phase: 'reconnecting', reconnectUntil: until, restarts: 4 } },
      { what: 'restored', session: session.id, value: { restarts: 4, state: { phase: 'reconnecting', until } } },
    ]);
  });
}

test('a session that was already waiting waits no longer than before', async () => {
  const session = leftSession({ phase: 'reconnecting', reconnectUntil: ms(NOW + 5000) });
  const restored = (await adopt(session)).find(({ what }) => what === 'restored');
  assert.deepEqual(restored?.value, { restarts: 1, state: { phase: 'reconnecting', until: NOW + 5000 } });
});

test('the recording of a resumed session continues in its files, if media was recorded', async () => {
  for (const fromMs of [undefined, ms(NOW)]) {
    const session = leftSession({ phase: 'live' });
    const asset = someClip(session, { id: session.id as string as AssetId, kind: 'recording', fromMs });
    const restored = (await adoptFrom({ assets: [asset] }, session)).find(({ what }) => what === 'restored');
    assert.ok(restored !== undefined);
    assert.equal((restored.value as { isRecorded?: boolean }).isRecorded ?? false, fromMs !== undefined);
  }
});

test('a session whose reconnect window has closed is ended, and not shown', async () => {
  const session = leftSession({ phase: 'reconnecting', reconnectUntil: ms(NOW - 1) });
  const told = await adopt(session);
  assert.deepEqual(
    told.map(({ what }) => what),
    ['activity', 'changed'],
  );
  const change = told[1]!.value as SessionChange;
  assert.equal(change.endReason, 'reconnect_window_elapsed');
});

test('a session that was left more than an hour ago is ended, because the database may be one of a backup', async () => {
  for (const [awayMs, isResumed] of [
    [3_600_000, true],
    [3_700_000, false],
  ] as const) {
    const lastSeen = ms(NOW - awayMs);
    const told = await adopt(leftSession({ phase: 'live', createdAt: ms(lastSeen - 1000), lastSeen }));
    assert.deepEqual(
      told.map(({ what }) => what),
      isResumed ? ['activity', 'stored', 'restored'] : ['activity', 'changed'],
    );
    // It was not live since then.
    if (!isResumed) assert.equal((told.at(-1)!.value as SessionChange).endedAt, lastSeen);
  }
});

test('a session that another node ended a moment before is not shown', async () => {
  const told = await adoptFrom({ isShared: true, isLost: true }, leftSession({ phase: 'live' }));
  assert.deepEqual(
    told.map(({ what }) => what),
    ['activity', 'stored'],
  );
});

for (const isShared of [false, true]) {
  test(`a stream that was active before its session was stored is set idle; the store is ${isShared ? '' : 'not '}shared`, async () => {
    const other = someStream(newUserId(), { isActive: true, lastSeen: ms(NOW - 1) });
    const told = await adoptFrom({ isShared, active: [stream, other] }, leftSession({ phase: 'live' }));
    assert.deepEqual(told[0], {
      what: 'set idle',
      session: other.id,
      value: { isActive: false, lastSeen: other.lastSeen, health: undefined },
    });
    assert.equal(told.filter(({ what }) => what === 'set idle').length, 1);
  });
}

test('a session that has ended is not changed', async () => {
  assert.deepEqual(await adopt(leftSession({ phase: 'ended' })), []);
});
