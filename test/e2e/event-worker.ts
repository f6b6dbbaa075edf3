/**
 * A process that changes streams and delivers the resulting events, as a server does, until it is killed. It prints a line for every change
 * that the store has acknowledged. It begins when it gets a message.
 *
 * `node event-worker.ts '<JSON of WorkerJob>'`
 */
import { once } from 'node:events';
import type { StreamId, UserId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { DestinationGuard } from '#lib/destination-guard.ts';
import { pause } from '#lib/pause.ts';
import { ms } from '#lib/units.ts';
import { EventSequencer } from '#store/event-sequencer.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { Dispatcher } from '#webhooks/dispatcher.ts';
import { Sender } from '#webhooks/sender.ts';
import { someReceipt, someStream } from '../support/sample-records.ts';

/** The job of the process. */
export interface WorkerJob {
  readonly dataDir: string;
  /** The URL of a test's own PostgreSQL. */
  readonly databaseUrl?: string;
  readonly userId: string;
  /** Whether the process also changes streams. */
  readonly changes: boolean;
}

/** Deliveries that fail are tried again soon, so that the test is quick. */
const LIMITS = { firstMs: 20, maxMs: 100, giveUpAfterMs: 3_600_000 };
/** The lease of a killed process runs out soon. */
const LEASE_MS = 1000;

/** Pause after a change failed. */
const PAUSE_MS = 20;

const job = JSON.parse(process.argv[2]!) as WorkerJob;
process.on('disconnect', () => process.exit());
await once(process, 'message');
const clock = systemClock;
const store = await openStore({
  dataDir: job.dataDir,
  databaseUrl: job.databaseUrl === undefined ? undefined : new Secret(job.databaseUrl),
  exclusive: true,
  logger: silentLogger,
});
const guard = new DestinationGuard({ allowPrivate: true });
const sequencer = new EventSequencer({ store, logger: silentLogger });
const dispatcher = new Dispatcher({
  store,
  sender: new Sender({ guard, clock }),
  presentStream: ({ id, name }) => ({ id, name }),
  clock,
  logger: silentLogger,
  metrics: createMetrics(),
  limits: LIMITS,
  leaseMs: LEASE_MS,
});
process.on('SIGTERM', () => void stop());
say('ready');
if (job.changes) await Promise.all(Array.from({ length: 4 }, change));

/** Creates streams, begins and ends them, and deletes them. A change that fails may or may not have happened. */
async function change(): Promise<void> {
  for (;;) {
    const stream = someStream(job.userId as UserId);
    const { id } = stream;
    const steps: Record<string, () => Promise<unknown>> = {
      'stream.created': () => store.streams.create(stream, someReceipt()),
      'stream.started': () => activity(id, true),
      'stream.idle': () => activity(id, false),
      'stream.deleted': () => store.streams.delete([id], 'everyone', [someReceipt()]),
    };
    for (const [type, step] of Object.entries(steps)) {
      const isDone = await step().then(
        () => true,
        () => false,
      );
      if (!isDone) {
        await pause(PAUSE_MS);
        break;
      }
      say(`${type} ${id}`);
    }
  }
}

function activity(id: StreamId, isActive: boolean): Promise<boolean> {
  return store.streams.setActivity(id, { isActive, lastSeen: ms(1), health: undefined, at: clock.now() });
}

async function stop(): Promise<void> {
  await dispatcher[Symbol.asyncDispose]();
  await sequencer[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  process.exit();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
