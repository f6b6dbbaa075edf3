/**
 * The part of the contract suite about nodes that share the database, and the publishers connected to them.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newStreamId } from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import { ms } from '#lib/units.ts';
import type { StoreAnnouncement } from '#store/announcement.ts';
import { someHealth, someNode, someReceipt, someSession, someStream } from '#test/support/sample-records.ts';
import { describeOn, isMillraceError, type OpenStore } from './suite.contract.ts';

/** A lease that outlasts any test, and one that runs out at once. */
const [LONG_MS, NONE_MS] = [60_000, 0];

const ACTIVE = { isActive: true, lastSeen: ms(5), health: someHealth() } as const;
const IDLE = { isActive: false, lastSeen: ms(6), health: undefined } as const;

/** Declares this part of the suite. */
export function nodesContract(name: string, open: OpenStore): void {
  describeOn(`${name}, shared by nodes`, open, (fixture) => {
    const nodeFor = async (leaseMs: number): Promise<ServiceNode> => {
      const node = someNode();
      await fixture.store.nodes.renew(node, leaseMs);
      return node;
    };
    const lapse = (node: ServiceNode) => fixture.store.nodes.renew(node, NONE_MS);
    const streamOn = async (node: ServiceNode, phases: readonly ('live' | 'starting' | 'ended')[]) => {
      const { store, user } = fixture;
      const stream = someStream(user.id, { isActive: true, health: someHealth() });
      await store.streams.create(stream, someReceipt());
      const sessions = phases.map((phase, n) =>
        someSession(stream, { phase, nodeId: node.id, createdAt: ms(n), viewers: 3 }),
      );
      for (const session of sessions) await store.sessions.create(session);
      return { stream, sessions };
    };

    it('holds a lease from the first call on, and reports that it had run out', async () => {
      const { nodes } = fixture.store;
      const node = someNode();
      assert.deepEqual(await nodes.renew(node, LONG_MS), { hadLapsed: false });
      assert.deepEqual(await nodes.renew(node, NONE_MS), { hadLapsed: false });
      assert.deepEqual(await nodes.renew(node, LONG_MS), { hadLapsed: true });
      assert.deepEqual(await nodes.renew(node, LONG_MS), { hadLapsed: false });
    });

    it('lists nodes with their leases and what they own, and returns the time of the database', async () => {
      const { store } = fixture;
      const [alive, lost] = [await nodeFor(LONG_MS), await nodeFor(LONG_MS)];
      const { stream } = await streamOn(alive, ['ended', 'live', 'live']);
      assert.equal(await store.publishers.claim(stream.id, alive.id), true);
      await lapse(lost);
      const listed = await store.nodes.list();
      const find = ({ id }: ServiceNode) => listed.find((node) => node.id === id)!;
      const { leaseLeftMs, ...rest } = find(alive);
      assert.deepEqual(rest, { ...alive, sessions: 2, publishers: 1 });
      assert.ok(leaseLeftMs > 0 && leaseLeftMs <= LONG_MS);
      assert.ok(find(lost).leaseLeftMs <= 0);
      const [before, after] = [await store.nodes.time(), await store.nodes.time()];
      assert.ok(before > 1_600_000_000_000 && after >= before);
    });

    it('reports a lease that had run out also when the node was forgotten in the meantime', async () => {
      const { nodes } = fixture.store;
      const node = await nodeFor(NONE_MS);
      await nodes.endSessionsOf(node.id, ms(77));
      assert.ok(!(await nodes.lapsed()).includes(node.id));
      assert.deepEqual(await nodes.renew(node, LONG_MS), { hadLapsed: true });
    });

    it('lists lost nodes until everything they owned is ended, and then forgets them', async () => {
      const { nodes } = fixture.store;
      const [living, dead, idle, waitedFor, left] = [
        await nodeFor(LONG_MS),
        await nodeFor(NONE_MS),
        await nodeFor(NONE_MS),
        await nodeFor(LONG_MS),
        await nodeFor(LONG_MS),
      ];
      const ours = new Set([living, dead, idle, waitedFor, left].map(({ id }) => id));
      const lapsed = async () => (await nodes.lapsed()).filter((id) => ours.has(id)).toSorted();
      await streamOn(living, ['live']);
      await streamOn(dead, ['live', 'ended']);
      await streamOn(waitedFor, ['starting']);
      for (const { id } of [waitedFor, left]) await nodes.leave(id);
      const gone = [dead.id, idle.id, waitedFor.id].toSorted();
      assert.deepEqual(await lapsed(), gone);
      for (const id of gone) await nodes.endSessionsOf(id, ms(77));
      assert.deepEqual(await lapsed(), []);
    });

    it('ends what a lost node owned, once, whichever node notices', async () => {
      const { store, user } = fixture;
      const node = await nodeFor(LONG_MS);
      const { stream, sessions } = await streamOn(node, ['live', 'ended', 'starting']);
      await store.publishers.claim(stream.id, node.id);
      await lapse(node);
      const ended = (await Promise.all([1, 2, 3].map(() => store.nodes.endSessionsOf(node.id, ms(77))))).flat();
      const expected = [sessions[0]!, sessions[2]!].map((session) => ({
        ...session,
        phase: 'ended',
        endReason: 'node_lost',
        endedAt: 77,
        viewers: 0,
      }));
      assert.deepEqual(
        ended.toSorted((a, b) => a.createdAt - b.createdAt),
        expected,
      );
      for (const session of expected) assert.deepEqual(await store.sessions.get(session.id, user.id), session);
      assert.deepEqual(await store.sessions.get(sessions[1]!.id, user.id), sessions[1]);
      const idle = await store.streams.get(stream.id, user.id);
      assert.deepEqual([idle?.isActive, idle?.health], [false, undefined]);
      assert.ok(!(await store.nodes.lapsed()).includes(node.id));
    });

    it('ends the sessions of a lost node that has more of them than one write ends', async () => {
      const { store, user } = fixture;
      const node = await nodeFor(NONE_MS);
      const count = 101;
      const all = await Promise.all(Array.from({ length: count }, () => streamOn(node, ['live'])));
      assert.equal((await store.nodes.endSessionsOf(node.id, ms(77))).length, count);
      for (const { stream } of all) {
        assert.equal((await store.streams.get(stream.id, user.id))?.isActive, false);
      }
      assert.ok(!(await store.nodes.lapsed()).includes(node.id));
    });

    it('sets a stream idle whose session a lost node had not stored', async () => {
      const { store, user } = fixture;
      const [node, other] = [await nodeFor(LONG_MS), await nodeFor(LONG_MS)];
      const { stream } = await streamOn(node, []);
      await store.publishers.claim(stream.id, node.id);
      await store.streams.setActivity(stream.id, ACTIVE, node.id);
      const activeOf = async (of?: (typeof node)['id']) => (await store.streams.active(of)).map(({ id }) => id);
      assert.ok((await activeOf()).includes(stream.id));
      assert.deepEqual(await activeOf(node.id), [stream.id]);
      assert.deepEqual(await activeOf(other.id), []);
      await lapse(node);
      assert.deepEqual(await store.nodes.endSessionsOf(node.id, ms(77)), []);
      assert.equal((await store.streams.get(stream.id, user.id))?.isActive, false);
      assert.deepEqual(await activeOf(node.id), []);
    });

    it('ends no session before it was last seen, whatever the clock of the other node says', async () => {
      const { store, user } = fixture;
      const node = await nodeFor(NONE_MS);
      const { sessions } = await streamOn(node, ['live', 'live']);
      await store.sessions.change(sessions[0]!.id, { lastSeen: ms(99) });
      await store.nodes.endSessionsOf(node.id, ms(77));
      const endOf = async (index: number) => (await store.sessions.get(sessions[index]!.id, user.id))?.endedAt;
      assert.deepEqual([await endOf(0), await endOf(1)], [99, 77]);
    });

    it('ends nothing of a node that holds its lease, or has renewed it', async () => {
      const { store, user } = fixture;
      const node = await nodeFor(NONE_MS);
      const { stream, sessions } = await streamOn(node, ['live']);
      await store.nodes.renew(node, LONG_MS);
      assert.deepEqual(await store.nodes.endSessionsOf(node.id, ms(77)), []);
      assert.deepEqual(await store.sessions.get(sessions[0]!.id, user.id), sessions[0]);
      assert.equal((await store.streams.get(stream.id, user.id))?.isActive, true);
    });

    it('leaves a stream active whose publisher moved to another node', async () => {
      const { store, user } = fixture;
      const [dead, other] = [await nodeFor(NONE_MS), await nodeFor(LONG_MS)];
      const { stream } = await streamOn(dead, ['live']);
      assert.equal(await store.publishers.claim(stream.id, other.id), true);
      await store.streams.setActivity(stream.id, ACTIVE, other.id);
      assert.equal((await store.nodes.endSessionsOf(dead.id, ms(77))).length, 1);
      assert.equal((await store.streams.get(stream.id, user.id))?.isActive, true);
      assert.equal(await store.publishers.claim(stream.id, (await nodeFor(LONG_MS)).id), false);
    });

    it('gives a stream to one live node at a time, and announces to which', async () => {
      const { publishers } = fixture.store;
      const [one, other, dead] = [await nodeFor(LONG_MS), await nodeFor(LONG_MS), await nodeFor(LONG_MS)];
      const streamId = newStreamId();
      const heard: StoreAnnouncement[] = [];
      using _ = fixture.store.listen((announcement) => heard.push(announcement));
      assert.equal(await publishers.claim(streamId, dead.id), true);
      await lapse(dead);
      assert.equal(await publishers.claim(streamId, one.id), true, 'a stream of a lost node');
      assert.equal(await publishers.claim(streamId, one.id), true, 'again');
      assert.equal(await publishers.claim(streamId, other.id), false);
      await publishers.release(streamId, other.id);
      assert.equal(await publishers.claim(streamId, other.id), false);
      await publishers.release(streamId, one.id);
      const racing = await Promise.all([publishers.claim(streamId, one.id), publishers.claim(streamId, other.id)]);
      assert.equal(racing.filter(Boolean).length, 1);
      const winner = racing[0] ? one : other;
      const ours = () =>
        heard.flatMap((each) => (each.type === 'stream_published' && each.streamId === streamId ? [each.nodeId] : []));
      while (ours().length < 4) await new Promise(setImmediate);
      assert.deepEqual(ours(), [dead.id, one.id, one.id, winner.id]);
    });

    it('releases the publishers of a node that leaves', async () => {
      const { nodes, publishers } = fixture.store;
      const [one, other] = [await nodeFor(LONG_MS), await nodeFor(LONG_MS)];
      const streamId = newStreamId();
      await publishers.claim(streamId, one.id);
      await nodes.leave(one.id);
      assert.equal(await publishers.claim(streamId, other.id), true);
    });

    it('gives the node that claimed each stream last, also when its publisher has gone', async () => {
      const { publishers } = fixture.store;
      const [one, other] = [await nodeFor(LONG_MS), await nodeFor(LONG_MS)];
      const [first, second, never] = [newStreamId(), newStreamId(), newStreamId()];
      await publishers.claim(first, one.id);
      await publishers.claim(second, one.id);
      await publishers.release(second, one.id);
      assert.deepEqual(
        await publishers.ownersOf([first, second, never]),
        new Map([
          [first, one.id],
          [second, one.id],
        ]),
      );
      await publishers.claim(second, other.id);
      assert.equal((await publishers.ownersOf([second])).get(second), other.id);
      assert.deepEqual(await publishers.ownersOf([]), new Map());
    });

    it('refuses every write of a node whose lease has run out as store_unavailable, until it is renewed', async () => {
      const { store, user } = fixture;
      const node = await nodeFor(LONG_MS);
      const { stream, sessions } = await streamOn(node, ['live']);
      await store.publishers.claim(stream.id, node.id);
      await lapse(node);
      const lapsed = isMillraceError('store_unavailable');
      const another = someSession(stream, { nodeId: node.id });
      await assert.rejects(store.streams.setActivity(stream.id, IDLE, node.id), lapsed);
      await assert.rejects(store.sessions.change(sessions[0]!.id, { viewers: 9 }, node.id), lapsed);
      await assert.rejects(store.sessions.create(another, node.id), lapsed);
      await assert.rejects(store.sessions.resume(sessions[0]!, { viewers: 9 }, node.id), lapsed);
      await assert.rejects(store.publishers.claim(stream.id, node.id), lapsed);
      assert.equal((await store.streams.get(stream.id, user.id))?.isActive, true);
      assert.deepEqual(await store.sessions.get(sessions[0]!.id, user.id), sessions[0]);
      assert.equal(await store.sessions.get(another.id, user.id), undefined);

      await store.nodes.renew(node, LONG_MS);
      assert.equal(await store.streams.setActivity(stream.id, IDLE, node.id), true);
      assert.equal(await store.sessions.change(sessions[0]!.id, { viewers: 9 }, node.id), true);
      assert.equal(await store.sessions.create(another, node.id), true);
      assert.equal(await store.publishers.claim(stream.id, node.id), true);
      assert.equal((await store.sessions.get(sessions[0]!.id, user.id))?.viewers, 9);
    });

    it('refuses what a node reports about a stream that another node has claimed since', async () => {
      const { store, user } = fixture;
      const [before, after] = [await nodeFor(LONG_MS), await nodeFor(LONG_MS)];
      const { stream, sessions } = await streamOn(before, ['live']);
      await store.publishers.claim(stream.id, before.id);
      await store.publishers.release(stream.id, before.id);
      assert.equal(await store.streams.setActivity(stream.id, ACTIVE, before.id), true, 'until another node claims it');
      await store.publishers.claim(stream.id, after.id);
      const taken = await store.streams.get(stream.id, user.id);
      assert.deepEqual(
        [taken?.isActive, taken?.health],
        [false, undefined],
        'what the previous node reported no longer counts',
      );

      assert.equal(await store.streams.setActivity(stream.id, ACTIVE, before.id), false);
      const another = someSession(stream, { nodeId: before.id });
      assert.equal(await store.sessions.create(another, before.id), false);
      assert.equal(await store.sessions.resume(sessions[0]!, { phase: 'live' }, before.id), false);
      assert.equal((await store.streams.get(stream.id, user.id))?.isActive, false);
      assert.equal(await store.sessions.get(another.id, user.id), undefined);
      // The node may still end its own session.
      assert.equal(
        await store.sessions.change(sessions[0]!.id, { phase: 'ended', endReason: 'replaced' }, before.id),
        true,
      );
      assert.equal(
        await store.sessions.change(sessions[0]!.id, { viewers: 9 }, after.id),
        false,
        'no other node may change the session',
      );
    });

    it('lets a node resume a session that others ended as node_lost, but only with resume and while it still owns the stream', async () => {
      const { store, user } = fixture;
      const [node, other] = [await nodeFor(LONG_MS), await nodeFor(LONG_MS)];
      const [kept, lost] = [await streamOn(node, ['live']), await streamOn(node, ['live'])];
      for (const { stream } of [kept, lost]) await store.publishers.claim(stream.id, node.id);
      await lapse(node);
      await store.nodes.endSessionsOf(node.id, ms(77));
      await store.publishers.claim(lost.stream.id, other.id);
      await store.nodes.renew(node, LONG_MS);
      const [keptSession, lostSession] = [kept.sessions[0]!, lost.sessions[0]!];
      for (const session of [keptSession, lostSession]) {
        assert.equal(await store.sessions.change(session.id, { phase: 'live', viewers: 9 }, node.id), false);
        assert.equal(await store.sessions.create({ ...session, phase: 'live' }, node.id), false);
        assert.equal((await store.sessions.get(session.id, user.id))?.phase, 'ended');
      }
      assert.equal(await store.sessions.resume(lostSession, { phase: 'live' }, node.id), false);
      assert.equal((await store.sessions.get(lostSession.id, user.id))?.endReason, 'node_lost');
      assert.equal(await store.sessions.resume(keptSession, { phase: 'live', viewers: 3 }, node.id), true);
      assert.deepEqual(await store.sessions.get(keptSession.id, user.id), {
        ...keptSession,
        phase: 'live',
        viewers: 3,
      });
    });

    it('makes one secret for all nodes', async () => {
      const { nodes } = fixture.store;
      const secrets = await Promise.all([1, 2, 3].map(() => nodes.clusterSecret()));
      assert.equal(new Set(secrets.map((secret) => secret.reveal())).size, 1);
      assert.ok(secrets[0]!.reveal().length >= 40);
    });
  });
}
