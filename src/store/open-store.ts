/**
 * Opens the store for `app.ts` and the command line.
 */
import type { Secret } from '#domain/secret.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { Engine, Query } from './engine.ts';
import { ENGINES, engineNamed } from './engines.ts';
import { storeOn } from './sql-store.ts';
import type { Store } from './store.ts';

/** The options of {@link openStore}. */
export interface StoreOptions {
  /** The folder for data that must last. It is created when it is missing. */
  readonly dataDir: string;
  /** The URL of a PostgreSQL database to use instead of the SQLite file in the folder. */
  readonly databaseUrl?: Secret | undefined;
  /**
   * True for a process that serves: it holds the folder until it ends. False for commands, which may run beside it.
   */
  readonly exclusive: boolean;
  readonly logger: Logger;
  readonly metrics?: Pick<Metrics, 'storeSeconds'>;
  readonly clock?: Clock;
  /** Milliseconds until a read rejects. */
  readonly readTimeoutMs?: number;
  /** Milliseconds until a write rejects. */
  readonly writeTimeoutMs?: number;
  /** The largest number of reads, and of writes, that may wait or run. More are refused. */
  readonly maxPending?: number;
  /** Milliseconds that closing waits for running reads, and then for writes. The rest are rejected. */
  readonly closeTimeoutMs?: number;
}

/**
 * Opens the store and brings its schema up to date. Dispose it to finish running calls and release the folder.
 * @throws {StoreOpenError} with an explanation for the operator
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dataDir, exclusive, logger, metrics, clock = systemClock, databaseUrl } = options;
  const { readTimeoutMs = 5000, writeTimeoutMs = 10_000, maxPending = 4096, closeTimeoutMs = 2000 } = options;
  const engine = await ENGINES[engineNamed(databaseUrl)]({
    dataDir,
    databaseUrl,
    exclusive,
    clock,
    logger,
    readTimeoutMs,
    writeTimeoutMs,
    maxPending,
    closeTimeoutMs,
  });
  return storeOn(metrics === undefined ? engine : observed(engine, metrics, clock), logger, clock);
}

/** Wraps an engine to measure the time of every call, including failed ones. */
function observed(engine: Engine, { storeSeconds }: Pick<Metrics, 'storeSeconds'>, clock: Clock): Engine {
  function timed<Args extends unknown[], Result>(kind: string, call: (...args: Args) => Promise<Result>) {
    const histogram = storeSeconds.labels(kind);
    return async (...args: Args): Promise<Result> => {
      const start = clock.monotonic();
      try {
        return await call(...args);
      } finally {
        histogram.observe((clock.monotonic() - start) / 1000);
      }
    };
  }
  return {
    isShared: engine.isShared,
    now: engine.now,
    patched: engine.patched,
    skipLocked: engine.skipLocked,
    contains: engine.contains,
    compiler: engine.compiler,
    version: () => engine.version(),
    read: timed('read', (query: Query) => engine.read(query)) as Engine['read'],
    readFirst: timed('read', (...args: [Query, number]) => engine.readFirst(...args)) as Engine['readFirst'],
    write: timed('write', (...args: Parameters<Engine['write']>) => engine.write(...args)),
    listen: (listener) => engine.listen(listener),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}
