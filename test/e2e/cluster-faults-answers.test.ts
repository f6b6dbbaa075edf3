/**
 * A change that one server has acknowledged takes effect at another, and no stream has two publishers, whatever fails between them: lost
 * announcements, a crashed database, a frozen server, clocks that differ.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { StreamObject } from '../support/api-client.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import type { ServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { acknowledge, assertCarriedOut, assertShown, broadcasts, sessionsOf } from './acknowledged-changes.ts';
import {
  beatsBetween,
  cutOffAnnouncements,
  deafen,
  type ProxiedNodes,
  startProxiedNodes,
  stoodStill,
} from './cluster-nodes.ts';
import { assertOneAtATime, publish, publishSoon } from './recorded-publisher.ts';
import { get } from './viewer.ts';

/** How long servers are frozen. A minute takes much longer, and shows little that ten seconds do not. */
const LONG = process.env.LONG_TESTS === undefined ? 'set LONG_TESTS=1: each takes more than a minute' : false;
/** How long a server holds its lease without renewing it. */
const LEASE_S = 6;
/** The number of beats after which a server has written everything that it could not write before: it tries again after a second. */
const SETTLED_BEATS = 3;

let postgres: PostgresServer;
/** Two servers whose clocks are ten seconds apart, for the changes, and two whose clocks agree, for the publishers. */
let apart: ProxiedNodes;
let cluster: ProxiedNodes;
const parts = new AsyncDisposableStack();
before(async () => {
  postgres = parts.use(await startPostgres());
  [apart, cluster] = await Promise.all([startProxiedNodes(postgres, 10_000), startProxiedNodes(postgres)]);
  parts.use(apart);
  parts.use(cluster);
});
after(() => parts.disposeAsync());

describe('what a server has answered', { concurrency: 2 }, () => {
  describe('terminate, rotate, suspend and delete', { concurrency: 1 }, () => {
    test('take effect while the clocks of the servers are ten seconds apart, in either direction', async () => {
      await using parts = new AsyncDisposableStack();
      for (const [owner, other] of [
        [apart.owner.server, apart.other.server],
        [apart.other.server, apart.owner.server],
      ] as const) {
        const changes = await broadcasts(parts, owner, other);
        await acknowledge(changes, other);
        await assertCarriedOut(changes, owner);
        await assertShown(changes, other);
      }
    });

    test('take effect although the connection for announcements was silently interrupted', async () => {
      await using parts = new AsyncDisposableStack();
      const { owner, other } = apart;
      const changes = await broadcasts(parts, owner.server, other.server);
      await cutOffAnnouncements(owner);
      await acknowledge(changes, other.server);
      await assertCarriedOut(changes, owner.server);
    });

    test('take effect although no announcement is delivered', async () => {
      await using parts = new AsyncDisposableStack();
      const { owner, other } = apart;
      const changes = await broadcasts(parts, owner.server, other.server);
      await using _ = await deafen(apart, owner);
      await acknowledge(changes, other.server);
      await assertCarriedOut(changes, owner.server);
    });
  });

  describe('two publishers of one stream', { concurrency: 1 }, () => {
    test('a publisher that sends again is disconnected although no announcement said that another server had claimed its stream', async (t) => {
      const { owner, other } = cluster;
      const stream = await owner.server.api.createStream();
      await using first = await publishSoon(owner.server.rtmpPort, stream.streamKey);
      await using _ = await deafen(cluster, owner);
      first.speak(false);
      await using second = await publishSoon(other.server.rtmpPort, stream.streamKey);
      first.speak(true);
      first.client.tag(fixtureTags()[0]!);
      // From here on, the server knows that its publisher sends again, unless it has disconnected it already.
      await first.client.heard().catch(() => {});
      const spokeAt = Date.now();
      await waitFor(() => first.client.isClosed, { what: 'the first publisher to be disconnected' });
      await assertOneAtATime(t, [first, second], { cluster, loser: owner, from: spokeAt });
      assert.equal(second.client.isClosed, false);
    });

    for (const moment of ['claims a stream', 'renews its lease', 'ends a session'] as const) {
      for (const [seconds, skip] of [
        [3, false],
        [10, false],
        [60, LONG],
      ] as const) {
        test(`a server that is frozen for ${seconds} s while it ${moment} obeys acknowledged changes, shows no stale data, and keeps to one publisher`, {
          skip,
        }, async (t) => {
          await using parts = new AsyncDisposableStack();
          const { owner, other } = cluster;
          const changes = await broadcasts(parts, owner.server, other.server);
          const stream = await other.server.api.createStream();
          const isActive = async ({ server } = other) => (await server.api.getStream(stream.id)).isActive;
          const { pid, rtmpPort, url } = owner.server;
          // When a session ends, the first write makes its stream idle.
          const sign = moment === 'renews its lease' ? url : stream.id;
          const frozen = Promise.withResolvers<void>();
          const freezeOnce = () => {
            const watching = owner.proxy.onRequest((bytes) => {
              if (!bytes.includes(sign)) return;
              process.kill(pid, 'SIGSTOP');
              watching[Symbol.dispose]();
              frozen.resolve();
            });
            parts.use(watching);
            parts.defer(() => void process.kill(pid, 'SIGCONT'));
          };

          if (moment === 'claims a stream') freezeOnce();
          const publishing = (moment === 'claims a stream' ? publish : publishSoon)(rtmpPort, stream.streamKey);
          if (moment !== 'claims a stream') {
            const first = (await publishing)!;
            await waitFor(() => isActive(), { what: 'the first session' });
            freezeOnce();
            if (moment === 'ends a session') first.unpublish();
          }
          await frozen.promise;
          const thawing = sleep(seconds * 1000);
          await acknowledge(changes, other.server);
          const earlier = await activeSessions(other.server, stream);
          const publishElsewhere = () => publish(other.server.rtmpPort, stream.streamKey);
          const publisherElsewhere = () => publishSoon(other.server.rtmpPort, stream.streamKey);
          // It may have to wait for a lock that the frozen server holds.
          const trying = seconds > LEASE_S ? publisherElsewhere() : publishElsewhere();
          if (seconds > LEASE_S) await trying;
          await thawing;
          const goneOnAt = Date.now();
          process.kill(pid, 'SIGCONT');

          await assertCarriedOut(changes, owner.server);
          const first = await publishing;
          if (first !== undefined) parts.use(first);
          let second = await trying;
          if (moment === 'ends a session' || first === undefined) second ??= await publisherElsewhere();
          if (second !== undefined) parts.use(second);
          if (first !== undefined && second !== undefined) {
            await waitFor(() => Number.isFinite(first.goneAt), { what: 'the first publisher to be disconnected' });
            await assertOneAtATime(t, [first, second], { cluster, loser: owner, from: goneOnAt });
          }
          await assertShown(changes, other.server);

          const staying = (second ?? first)!;
          const isSessionOf = (id: string) => second === undefined || !earlier.includes(id);
          const [session] = await waitFor(
            async () => {
              const active = await activeSessions(other.server, stream);
              return active.length === 1 && isSessionOf(active[0]!) && (await isActive()) && active;
            },
            { what: 'the session of the one publisher that is left' },
          );
          // Each server shows sessions of other servers as they are in the store, so this one would show damage that it did there.
          await reachesStore(owner.server);
          await waitFor(() => isActive(owner), { what: 'the server to show that session' });
          const expected = { isClosed: false, atOwner: true, atOther: true, sessions: [session] };
          let since: number | undefined = goneOnAt;
          const hasSettled = async () => {
            const found = {
              isClosed: staying.client.isClosed,
              atOwner: await isActive(owner),
              atOther: await isActive(other),
              sessions: await activeSessions(other.server, stream),
            };
            const now = Date.now();
            if (isDeepStrictEqual(found, expected)) {
              since ??= now;
              return (await beatsBetween(cluster, owner, [since, now])) >= SETTLED_BEATS;
            }
            if (since === undefined) return false;
            const span = [since, now] as const;
            const pauses = await Promise.all([owner, other].map((node) => stoodStill(cluster, node, span)));
            // The stream is never idle again, unless the machine stood still. Then the server settles once more.
            if (!pauses.includes(true)) assert.deepEqual(found, expected);
            since = undefined;
            return false;
          };
          await waitFor(hasSettled, { what: 'the server to have written what it had left to write' });
          for (const { server } of [owner, other]) {
            const isShown = async () => (await get(server.playlistUrl(stream.playbackId))).status === 200;
            await waitFor(isShown, { what: 'the session to be watched from both' });
          }
        });
      }
    }
  });
});

test('changes that were acknowledged a moment before the database crashed take effect once it is back', async () => {
  await using parts = new AsyncDisposableStack();
  const { owner, other } = apart;
  const changes = await broadcasts(parts, owner.server, other.server);
  await cutOffAnnouncements(owner);
  await acknowledge(changes, other.server);
  await postgres.stop('crash');
  await postgres.start();
  await assertCarriedOut(changes, owner.server);
  await reachesStore(other.server);
  await assertShown(changes, other.server);
});

/** The ids of the sessions that a server shows as active. */
async function activeSessions(server: ServerProcess, stream: StreamObject): Promise<readonly string[]> {
  return (await sessionsOf(server, stream)).filter(({ isActive }) => isActive).map(({ id }) => id);
}

/** Waits until a server reaches the database. */
async function reachesStore({ api }: ServerProcess): Promise<void> {
  const isAnswered = async () => (await api.request('GET', '/user/me')).status === 200;
  await waitFor(isAnswered, { what: 'the interface to answer' });
}
