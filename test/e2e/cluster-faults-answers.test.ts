/**
 * What one server has answered takes effect at another, whatever got lost in between: announcements, the database, the other server for
 * a while, the same time of day.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixtureTags } from '../support/flv-file.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import type { ServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { startProxiedNodes } from './cluster-nodes.ts';
import { broadcast, CUTS, endReason } from './cuts.ts';

/** What is answered takes effect within ten seconds; this machine may be busy. */
const WITHIN_TEN_SECONDS = { timeoutMs: 20_000 };
/** Freezing for a minute shows nothing that ten seconds do not, but the issue asks for it. */
const LONG =
  process.env.CLUSTER_FAULTS_LONG === undefined ? 'set CLUSTER_FAULTS_LONG=1: it takes more than a minute' : false;

let postgres: PostgresServer;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres?.[Symbol.asyncDispose]());

/** A broadcast for each change that disconnects a publisher. */
async function broadcasts(parts: AsyncDisposableStack, owner: ServerProcess, other: ServerProcess) {
  return Promise.all(CUTS.map(async (cut) => ({ cut, live: parts.use(await broadcast(owner, other)) })));
}

/** Asks for every change at the other server. */
async function askAll(lives: Awaited<ReturnType<typeof broadcasts>>, other: ServerProcess): Promise<void> {
  for (const { cut, live } of lives) {
    const answer = await cut.request(other.api, live.stream);
    assert.ok(answer.ok, `${cut.what}: ${answer.status} ${await answer.text()}`);
  }
}

/** Sees every publisher disconnected for the reason of its change. */
async function assertAllCut(lives: Awaited<ReturnType<typeof broadcasts>>, owner: ServerProcess): Promise<void> {
  for (const { cut, live } of lives) {
    await waitFor(() => live.client.isClosed, {
      what: `the publisher of one ${cut.what} to be cut`,
      ...WITHIN_TEN_SECONDS,
    });
    await waitFor(() => endReason(owner, live.stream) === cut.reason, {
      what: 'the end in the log',
      ...WITHIN_TEN_SECONDS,
    });
  }
}

/** The sessions of a stream as the interface shows them, newest first. */
async function sessionsOf(server: ServerProcess, id: string) {
  const answer = await server.api.request('GET', `/stream/${id}/sessions`);
  return (await answer.json()) as { id: string; isActive: boolean; lastSeen: number }[];
}

describe('terminate, suspend, rotate and delete', () => {
  test('take effect although the connection for announcements was cut off without a word', async () => {
    await using cluster = await startProxiedNodes(postgres);
    await using parts = new AsyncDisposableStack();
    const { owner, other } = cluster;
    const lives = await broadcasts(parts, owner.server, other.server);
    assert.equal(owner.proxy.blackHole(/listen millrace/), 1);
    await askAll(lives, other.server);
    await assertAllCut(lives, owner.server);
  });

  test('take effect although no announcement is ever told', async () => {
    await using cluster = await startProxiedNodes(postgres);
    await using parts = new AsyncDisposableStack();
    const { owner, other } = cluster;
    const lives = await broadcasts(parts, owner.server, other.server);
    // The connection lives, and answers when it is asked, but it does not listen.
    const ended =
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' or query like 'select 1'";
    owner.proxy.rewrite((bytes) => bytes.replace('listen millrace', 'listen millracf'));
    await postgres.query(ended);
    const isDeaf = async () =>
      (await postgres.query("select 1 from pg_stat_activity where query = 'listen millracf'")).length > 0;
    await waitFor(isDeaf, { what: 'the owner to listen in vain' });
    await askAll(lives, other.server);
    await assertAllCut(lives, owner.server);
  });

  test('that were acknowledged a moment before the database crashed take effect once it is back', async () => {
    await using cluster = await startProxiedNodes(postgres);
    await using parts = new AsyncDisposableStack();
    const { owner, other } = cluster;
    const lives = await broadcasts(parts, owner.server, other.server);
    owner.proxy.blackHole(/listen millrace/);
    await askAll(lives, other.server);
    await postgres.stop('crash');
    await postgres.start();
    await assertAllCut(lives, owner.server);
  });

  for (const [seconds, skip] of [
    [3, false],
    [10, false],
    [60, LONG],
  ] as const) {
    test(`take effect at a server that was frozen for ${seconds} s meanwhile, and it shows nothing stale`, {
      skip,
    }, async () => {
      await using cluster = await startProxiedNodes(postgres);
      await using parts = new AsyncDisposableStack();
      const { owner, other } = cluster;
      const lives = await broadcasts(parts, owner.server, other.server);
      process.kill(owner.server.pid, 'SIGSTOP');
      try {
        await askAll(lives, other.server);
        await sleep(seconds * 1000);
      } finally {
        process.kill(owner.server.pid, 'SIGCONT');
      }
      await assertAllCut(lives, owner.server);
      const open = lives.filter(({ cut }) => cut.reason !== 'deleted');
      for (const { live } of open) {
        const isOver = async () => !(await other.server.api.getStream(live.stream.id)).isActive;
        await waitFor(isOver, { what: 'the stream to be idle' });
        const isEnded = async () => (await sessionsOf(other.server, live.stream.id)).every((each) => !each.isActive);
        await waitFor(isEnded, { what: 'its session to end' });
        assert.equal((await sessionsOf(other.server, live.stream.id)).length, 1);
      }
    });
  }

  test('take effect while the clocks of the servers are ten seconds apart, in either direction', async () => {
    for (const aheadMs of [10_000, -10_000]) {
      await using cluster = await startProxiedNodes(postgres, aheadMs);
      await using parts = new AsyncDisposableStack();
      const { owner, other } = cluster;
      const lives = await broadcasts(parts, owner.server, other.server);
      await askAll(lives, other.server);
      await assertAllCut(lives, owner.server);
    }
  });
});

describe('a server frozen longer than its lease', () => {
  for (const moment of ['claims a stream', 'renews its lease', 'ends a session'] as const) {
    test(`while it ${moment} leaves the stream to the publisher that another server accepted meanwhile`, async () => {
      await using cluster = await startProxiedNodes(postgres);
      const { owner, other } = cluster;
      const stream = await other.server.api.createStream({ name: 'twice' });
      const { pid } = owner.server;
      const frozen = Promise.withResolvers<void>();
      let isFrozen = false;
      const freezeAt = (sign: string) =>
        owner.proxy.onRequest((bytes) => {
          if (isFrozen || !bytes.includes(sign)) return;
          isFrozen = true;
          process.kill(pid, 'SIGSTOP');
          frozen.resolve();
        });
      if (moment === 'claims a stream') freezeAt(stream.id);
      // What it is refused with, when it is, comes once it goes on.
      const publishing = RtmpClient.publish(owner.server.rtmpPort, stream.streamKey).then(
        (client) => {
          client.tags(fixtureTags());
          return client;
        },
        (error: unknown) => {
          assert.ok(error instanceof RtmpRefusedError);
          return undefined;
        },
      );
      if (moment !== 'claims a stream') {
        const client = await publishing;
        await waitFor(async () => (await other.server.api.getStream(stream.id)).isActive, {
          what: 'the first session',
        });
        freezeAt(moment === 'ends a session' ? 'unpublished' : owner.server.url);
        if (moment === 'ends a session') client?.command('deleteStream', null, 1);
      }
      await frozen.promise;
      const second = await waitFor(() => published(other.server, stream.streamKey), {
        what: 'the other server to accept a publisher',
        ...WITHIN_TEN_SECONDS,
      });
      await using _ = second;
      second.tags(fixtureTags());
      const isActive = async () => (await other.server.api.getStream(stream.id)).isActive;
      await waitFor(isActive, { what: 'the second session' });
      const [current] = await sessionsOf(other.server, stream.id);

      process.kill(pid, 'SIGCONT');
      const first = await publishing;
      if (first !== undefined)
        await waitFor(() => first.isClosed, { what: 'the first publisher to go', ...WITHIN_TEN_SECONDS });
      // Whatever the frozen server had yet to write it has written by the time it answers for the stream.
      await waitFor(async () => (await owner.server.api.getStream(stream.id)).isActive, {
        what: 'it to see the other session',
      });
      for (let look = 0; look < 10; look += 1) {
        assert.equal(await isActive(), true, 'never idle again');
        const sessions = await sessionsOf(other.server, stream.id);
        assert.deepEqual(
          sessions.filter((session) => session.isActive).map(({ id }) => id),
          [current!.id],
        );
        await sleep(300);
      }
      assert.equal(second.isClosed, false);
      await first?.[Symbol.asyncDispose]();
    });
  }
});

/** A publisher of the key, once the server accepts one. */
async function published(server: ServerProcess, streamKey: string): Promise<RtmpClient | undefined> {
  try {
    return await RtmpClient.publish(server.rtmpPort, streamKey);
  } catch (error) {
    if (error instanceof RtmpRefusedError) return undefined;
    throw error;
  }
}
