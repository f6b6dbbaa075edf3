/**
 * The part of the contract suite about what is measured: samples of sessions, and usage.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { HealthSample } from '#domain/health-sample.ts';
import { newPlaybackId } from '#domain/ids.ts';
import { NO_USAGE, type UsageCounts } from '#domain/usage.ts';
import { DAY_MS, HOUR_MS, ms } from '#lib/units.ts';
import { someReceipt, someSample, someSession, someStream, someUser } from '#test/support/sample-records.ts';
import { describeOn, type OpenStore } from './suite.contract.ts';

const sampleAt = (at: number, viewers = 0): HealthSample => someSample({ at: ms(at), viewers });

/** Declares this part of the suite. */
export function usageContract(name: string, open: OpenStore): void {
  describeOn(`${name}, keeping samples`, open, (fixture) => {
    const start = async () => {
      const stream = someStream(fixture.user.id);
      await fixture.store.streams.create(stream, someReceipt());
      const session = someSession(stream, { phase: 'ended', endedAt: ms(5), endReason: 'unpublished' });
      await fixture.store.sessions.create(session);
      return session;
    };
    const list = (session: { readonly id: Awaited<ReturnType<typeof start>>['id'] }, from = 0, to = 1e9, limit = 99) =>
      fixture.store.samples.list(session.id, { from: ms(from), to: ms(to), limit });

    it('lists the samples of a session in a range, oldest first, and keeps one for each time', async () => {
      const { store } = fixture;
      const [session, other] = [await start(), await start()];
      const samples = [sampleAt(1), sampleAt(2), sampleAt(3)];
      for (const _ of [1, 2]) await store.samples.add(samples.map((sample) => ({ sessionId: session.id, sample })));
      assert.deepEqual(await list(session), samples);
      assert.deepEqual(await list(session, 2, 2), [samples[1]]);
      assert.deepEqual(await list(session, 0, 9, 2), samples.slice(0, 2));
      assert.deepEqual(await list(other), []);
      await store.samples.add([{ sessionId: session.id, sample: sampleAt(2, 7) }]);
      assert.equal((await list(session))[1]?.viewers, 7);
    });

    it('deletes many samples of a session in several calls, and then the session', async () => {
      const { store, user } = fixture;
      const calls = [() => store.sessions.deleteEnded(ms(10), 2), () => store.sessions.deleteBeyond(user.id, 1, 2)];
      while ((await calls[0]!()) === 2);
      for (const call of calls) {
        const { id: sessionId } = await start();
        await store.samples.add(Array.from({ length: 30 }, (_, at) => ({ sessionId, sample: sampleAt(at + 1) })));
        if (call === calls[1]) await start();
        const left = [];
        do left.push((await list({ id: sessionId })).length);
        while ((await store.sessions.get(sessionId, user.id)) !== undefined && (await call()) === 2);
        assert.deepEqual(left, [30, 22, 14, 6]);
        assert.equal(await store.sessions.get(sessionId, user.id), undefined);
        assert.deepEqual(await list({ id: sessionId }), []);
      }
    });

    it('deletes samples with their session', async () => {
      const { store, user } = fixture;
      const [old, kept] = [await start(), await start()];
      for (const { id: sessionId } of [old, kept]) await store.samples.add([{ sessionId, sample: sampleAt(1) }]);
      await store.sessions.change(kept.id, { phase: 'ended', endedAt: ms(5_000_000_000) });
      assert.ok((await store.sessions.deleteEnded(ms(10), 1000)) >= 1);
      assert.deepEqual([(await list(old)).length, (await list(kept)).length], [0, 1]);
      await start();
      assert.equal(await store.sessions.deleteBeyond(user.id, 1, 1000), 1);
      const left = await Promise.all([list(old), list(kept)]);
      assert.equal(left.flat().length, 0);
    });
  });

  describeOn(`${name}, counting usage`, open, (fixture) => {
    const start = async (userId = fixture.user.id) => {
      const stream = someStream(userId);
      await fixture.store.streams.create(stream, someReceipt());
      return stream;
    };
    const hour = (
      { playbackId }: { readonly playbackId: ReturnType<typeof newPlaybackId> },
      at: number,
      counts: Partial<UsageCounts>,
      countedBy = 'a',
    ) => ({ hour: ms(at * HOUR_MS), playbackId, countedBy, counts: { ...NO_USAGE, ...counts } });
    const all = { from: ms(0), to: ms(1e15), limit: 99 };

    it('replaces what a process counted for an hour, and adds what several processes counted', async () => {
      const { store, user } = fixture;
      const stream = await start();
      const large = 2 ** 45;
      await store.usage.count([hour(stream, 1, { ingestBytes: 5, views: 1 }), hour(stream, 2, { ingestBytes: 1 })]);
      for (const _ of [1, 2]) await store.usage.count([hour(stream, 1, { ingestBytes: large, views: 2 })]);
      await store.usage.count([hour(stream, 1, { ingestBytes: 7, watchedMs: 9 }, 'b')]);
      await store.usage.count([]);
      const sums = await store.usage.sum(user.id, { ...all, stepMs: HOUR_MS });
      assert.deepEqual(
        sums.map(({ from, streamId, userId, counts }) => [from, streamId, userId, counts]),
        [
          [HOUR_MS, undefined, undefined, { ...NO_USAGE, ingestBytes: large + 7, views: 2, watchedMs: 9 }],
          [2 * HOUR_MS, undefined, undefined, { ...NO_USAGE, ingestBytes: 1 }],
        ],
      );
    });

    it('sums by time, stream and user, within a range and scope', async () => {
      const { store, user } = fixture;
      const other = await store.users.ensure(someUser());
      const [one, two, theirs] = [await start(), await start(), await start(other.id)];
      await store.usage.count([
        hour(one, 1, { views: 1 }),
        hour(one, 25, { views: 2 }),
        hour(two, 2, { views: 4 }),
        hour(theirs, 3, { views: 8 }),
        hour({ playbackId: newPlaybackId() }, 3, { views: 16 }),
      ]);
      const views = async (...args: Parameters<typeof store.usage.sum>) =>
        (await store.usage.sum(...args)).map(({ from, streamId, userId, counts }) => [
          from / DAY_MS,
          streamId,
          userId,
          counts.views,
        ]);
      assert.deepEqual(await views(user.id, { ...all, stepMs: DAY_MS }), [
        [0, undefined, undefined, 5],
        [1, undefined, undefined, 2],
      ]);
      const byStream = await views(user.id, { ...all, to: ms(DAY_MS), stepMs: DAY_MS, by: 'stream' });
      assert.deepEqual(
        new Set(byStream.map((sum) => sum.join())),
        new Set([[0, one.id, user.id, 1].join(), [0, two.id, user.id, 4].join()]),
      );
      const ofOne = { ...all, stepMs: 2 ** 53 - 1, streamId: one.id };
      assert.deepEqual(await views(user.id, ofOne), [[0, undefined, undefined, 3]]);
      assert.deepEqual(await views('everyone', ofOne), [[0, undefined, undefined, 3]]);
      assert.deepEqual(await views(other.id, ofOne), []);
      const everyone = await views('everyone', { ...all, stepMs: 2 ** 53 - 1, by: 'user' });
      assert.deepEqual(
        everyone.filter(([, , userId]) => userId === other.id),
        [[0, undefined, other.id, 8]],
      );
      assert.deepEqual(await views(user.id, { ...all, from: ms(2 * HOUR_MS), to: ms(3 * HOUR_MS), stepMs: DAY_MS }), [
        [0, undefined, undefined, 4],
      ]);
      assert.equal((await views(user.id, { ...all, stepMs: DAY_MS, limit: 1 })).length, 1);
    });

    it('deletes what is older than a time, and keeps the usage of deleted streams', async () => {
      const { store, user } = fixture;
      const stream = await start();
      await store.streams.delete([stream.id], user.id, [someReceipt()]);
      await store.usage.count([1, 2, 3].map((at) => hour(stream, at, { views: 1 })));
      const count = async () => (await store.usage.sum(user.id, { ...all, stepMs: HOUR_MS })).length;
      assert.equal(await count(), 3);
      while ((await store.usage.deleteOlder(ms(3 * HOUR_MS), 2)) > 0);
      assert.equal(await count(), 1);
    });
  });
}
