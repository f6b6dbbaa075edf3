/**
 * Keeps the time at which the server last ran in the data folder. Where the database has the same clock as the server, nothing else can show
 * that this clock is years ahead when the server starts.
 */
import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CautiousClock } from '#lib/cautious-clock.ts';
import { repeat } from '#lib/pause.ts';
import { DAY_MS, HOUR_MS, type Milliseconds, ms } from '#lib/units.ts';
import type { Logger } from '#telemetry/logger.ts';
import { isErrno } from './data-folder.ts';

const NAME = 'last-time';
const EVERY_MS = HOUR_MS;
/** The longest time that a server may have been off for the present time to be believed. */
const OFF_MS = 7 * DAY_MS;

/** A clock with an earlier time, 1970 for example, is not set yet, because no server that wrote this file ran before. */
const EARLIEST = Date.UTC(2026, 0);

/**
 * The time from which the clock by which data is deleted begins: the present one, or the time at which a server last ran when that is more
 * than a week ago. A file that is damaged or cannot be read counts as missing. Blocks.
 */
export function believableTime(dataDir: string, now: Milliseconds, logger: Logger): Milliseconds {
  const lastTime = lastTimeOf(dataDir, logger);
  return lastTime !== undefined && now - lastTime > OFF_MS ? lastTime : now;
}

function lastTimeOf(dataDir: string, logger: Logger): Milliseconds | undefined {
  try {
    const time = Date.parse(readFileSync(join(dataDir, NAME), 'utf8').trim());
    return time >= EARLIEST ? ms(time) : undefined;
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) logger.warn({ err: error }, 'last-time in the data folder could not be read');
    return undefined;
  }
}

/** The options of {@link LastTime}. */
export interface LastTimeOptions {
  readonly dataDir: string;
  /** The clock by which data is deleted. */
  readonly clock: Pick<CautiousClock, 'now' | 'doubtedMs'>;
  readonly logger: Logger;
  /** Milliseconds between two writes. By default an hour. */
  readonly everyMs?: number;
}

/**
 * Keeps the time in `<dataDir>/last-time` at the start, every hour, and at the end. While the clock is not believed, nothing is written: an
 * operator who knows that the clock is right deletes the file, and it must stay deleted.
 */
export class LastTime implements AsyncDisposable {
  readonly #options: LastTimeOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: LastTimeOptions) {
    this.#options = options;
    const { everyMs = EVERY_MS } = options;
    this.#running = repeat(() => this.#keep(), everyMs, this.#closing.signal).then(() => this.#keep());
  }

  /** Writes the time once more, and stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /** Writes a new file and renames it, so that the file is always complete, even after a power failure. */
  async #keep(): Promise<void> {
    const { dataDir, clock, logger } = this.#options;
    const now = clock.now();
    if (clock.doubtedMs !== undefined || now < EARLIEST) return;
    const path = join(dataDir, NAME);
    try {
      await writeFile(`${path}.new`, `${new Date(now).toISOString()}\n`, { mode: 0o600, flush: true });
      await rename(`${path}.new`, path);
    } catch (error) {
      logger.warn({ err: error }, 'the time could not be kept in last-time in the data folder');
    }
  }
}
