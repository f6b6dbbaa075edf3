import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EVENTS, type EventType, type ServiceEvent } from '#domain/events.ts';
import { Secret } from '#domain/secret.ts';
import { openStore } from '#store/open-store.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { startPostgres } from '../support/postgres.ts';
import { someReceipt, someUser, someWebhook } from '../support/sample-records.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import type { WorkerJob } from './event-worker.ts';

/**
 * How long the database is away. The leases of these workers last a second, and all time limits of the store are at most ten seconds, so a
 * minute shows nothing more.
 */
const OUTAGE_MS = process.env.LONG_TESTS === undefined ? 12_000 : 60_000;
/** How often a worker is killed, each time at another moment of its work. */
const KILLS = process.env.LONG_TESTS === undefined ? 5 : 20;

/** The workers under test, and what they did. */
class Fixture {
  readonly user = someUser();
  /** Changes that a worker has seen acknowledged: event type and stream. */
  readonly acknowledged: string[] = [];
  readonly delivered = new Set<string>();
  readonly receiver: WebhookReceiver;
  readonly #open: () => Promise<Store>;
  readonly #children = new Set<ChildProcess>();

  /** @param open opens the store while workers run, or while none does */
  constructor(receiver: WebhookReceiver, open: () => Promise<Store>) {
    this.receiver = receiver;
    this.#open = open;
    let count = 0;
    receiver.answer = ({ body }) => {
      count += 1;
      // Half of all requests fail, in different ways.
      if (count % 4 === 1) return { status: 500 };
      if (count % 4 === 3) return { status: 302, headers: { location: '/elsewhere' } };
      this.delivered.add(body.id);
      return { status: 200 };
    };
  }

  async prepare(): Promise<void> {
    await using store = await this.#open();
    await store.users.ensure(this.user);
    const events = Object.keys(EVENTS) as EventType[];
    const webhook = someWebhook(this.user.id, { url: this.receiver.url, events });
    await store.webhooks.create(webhook, someReceipt());
  }

  /** Starts a worker that is ready to work. @returns a function that lets it begin, and returns a function that kills it */
  standBy(job: Omit<WorkerJob, 'userId'>) {
    const path = join(import.meta.dirname, 'event-worker.ts');
    const child = spawn(process.execPath, [path, JSON.stringify({ ...job, userId: this.user.id })], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    this.#children.add(child);
    const exited = once(child, 'exit').then(() => this.#children.delete(child));
    let isReady = false;
    createInterface(child.stdout!).on('line', (line) => {
      if (line === 'ready') isReady = true;
      // A line that was cut off by the end of the process was not acknowledged to anybody.
      else if (/^[a-z.]+ [0-9a-f-]{36}$/.test(line)) this.acknowledged.push(line);
    });
    return async () => {
      child.send('begin');
      await waitFor(() => isReady, { what: 'the worker', timeoutMs: 90_000 });
      return async (signal: NodeJS.Signals) => {
        child.kill(signal);
        await exited;
      };
    };
  }

  /** Starts a worker and waits until it works. */
  worker(job: Omit<WorkerJob, 'userId'>) {
    return this.standBy(job)();
  }

  /** Waits until every event in the list has been delivered, and returns the events in order. */
  async settled(): Promise<readonly ServiceEvent[]> {
    await using store = await this.#open();
    return await waitFor(
      async () => {
        if (await store.events.areWaiting()) return false;
        const found: ServiceEvent[] = [];
        for (let after = 0; ; after = found.at(-1)!.sequence) {
          const page = await store.events.list('everyone', { limit: 1000, direction: 'asc', after, filter: {} });
          found.push(...page);
          if (page.length < 1000) break;
        }
        return found.every(({ id }) => this.delivered.has(id)) && found;
      },
      { what: 'every event to be delivered', timeoutMs: 90_000 },
    );
  }

  /** Ends workers that a failed test has left. */
  [Symbol.dispose](): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }

  /** Asserts that each acknowledged change has exactly one event, that no event is invented, and that the events of each stream are in order. */
  assertTrue(events: readonly ServiceEvent[]): void {
    const told = events.map(({ type, streamId }) => `${type} ${streamId}`);
    assert.equal(new Set(told).size, told.length, 'no event is there twice');
    const known = new Set(told);
    for (const change of this.acknowledged) assert.ok(known.has(change), `${change} was acknowledged and not told`);
    const ids = new Set(events.map(({ id }) => id));
    for (const { body } of this.receiver.received) assert.ok(ids.has(body.id as never), `${body.event} was invented`);
    const order = ['stream.created', 'stream.started', 'stream.idle', 'stream.deleted'];
    const byStream = Map.groupBy(events, ({ streamId }) => streamId);
    for (const ofStream of byStream.values()) {
      const types = ofStream.map(({ type }) => type);
      assert.deepEqual(types, order.slice(0, types.length));
    }
    assert.ok(this.acknowledged.length > 50, `${this.acknowledged.length} changes`);
  }
}

test(`${KILLS} times kill -9 while streams change and every other request fails: every event is delivered, none is invented`, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-events-'));
  t.after(() => rm(dataDir, { recursive: true }));
  await using receiver = await startReceiver();
  using fixture = new Fixture(receiver, () => openStore({ dataDir, exclusive: false, logger: silentLogger }));
  await (await openStore({ dataDir, exclusive: true, logger: silentLogger }))[Symbol.asyncDispose]();
  await fixture.prepare();
  let begin = fixture.standBy({ dataDir, changes: true });
  for (let round = 0; round < KILLS; round += 1) {
    const before = fixture.acknowledged.length;
    const end = await begin();
    // The next worker is started meanwhile.
    begin = fixture.standBy({ dataDir, changes: round < KILLS - 1 });
    // The kill comes at a different moment in each round.
    const wanted = before + 5 + round * 3;
    await waitFor(() => fixture.acknowledged.length >= wanted, { what: 'changes', timeoutMs: 90_000 });
    await end('SIGKILL');
  }
  const end = await begin();
  const events = await fixture.settled();
  await end('SIGTERM');
  fixture.assertTrue(events);
});

test('while the database is away nothing is lost, and two processes share the deliveries of one PostgreSQL', async (t) => {
  await using postgres = await startPostgres();
  const url = await postgres.newDatabase();
  const proxy = await startTcpProxy(postgres.port);
  t.after(() => proxy.close());
  const proxied = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const folders = await Promise.all([0, 1].map(() => mkdtemp(join(tmpdir(), 'millrace-events-'))));
  t.after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));
  await using receiver = await startReceiver();
  using fixture = new Fixture(receiver, () =>
    openStore({ dataDir: folders[0]!, databaseUrl: new Secret(url), exclusive: false, logger: silentLogger }),
  );
  await fixture.prepare();
  const workers = await Promise.all(
    folders.map((dataDir) => fixture.worker({ dataDir, databaseUrl: proxied, changes: true })),
  );
  await waitFor(() => fixture.acknowledged.length >= 40, { what: 'changes', timeoutMs: 90_000 });
  proxy.leadTo(1);
  await sleep(OUTAGE_MS);
  const atLoss = fixture.acknowledged.length;
  proxy.leadTo(postgres.port);
  await waitFor(() => fixture.acknowledged.length >= atLoss + 40, {
    what: 'changes after the outage',
    timeoutMs: 90_000,
  });
  // One worker is killed, and the other one takes over the leases of the killed one.
  await workers[0]!('SIGKILL');
  await workers[1]!('SIGTERM');
  const end = await fixture.worker({ dataDir: folders[1]!, databaseUrl: proxied, changes: false });
  const events = await fixture.settled();
  await end('SIGTERM');
  fixture.assertTrue(events);
});
