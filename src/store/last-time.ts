/**
 * The time at which a server last ran. It is kept in the data folder, because a clock that is years ahead from the start of the machine on
 * can be noticed by nothing else where the database has the same clock.
 */
import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/clock.ts';
import { pause } from '#lib/pause.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import type { Logger } from '#telemetry/logger.ts';
import { folderError, isErrno } from './data-folder.ts';

const NAME = 'last-time';
const EVERY_MS = 3_600_000;
/** How long a server may have been off for the present time to be believed. */
const OFF_MS = 7 * 86_400_000;

/**
 * The time from which the clock by which data is deleted begins: the present one, or the time at which a server last ran when that is more
 * than a week ago. Blocks.
 * @throws {StoreOpenError} when the file cannot be read
 */
export function believableTime(dataDir: string, now: Milliseconds): Milliseconds {
  const lastTime = lastTimeOf(dataDir);
  return lastTime !== undefined && now - lastTime > OFF_MS ? lastTime : now;
}

function lastTimeOf(dataDir: string): Milliseconds | undefined {
  const path = join(dataDir, NAME);
  try {
    const time = Date.parse(readFileSync(path, 'utf8').trim());
    return Number.isNaN(time) ? undefined : ms(time);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw folderError(error, path, 'read_only');
  }
}

/** The options of {@link LastTime}. */
export interface LastTimeOptions {
  readonly dataDir: string;
  /** The clock by which data is deleted. A time that it does not believe is not kept. */
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds between two writes. By default an hour. */
  readonly everyMs?: number;
}

/** Keeps the time in `<dataDir>/last-time` at the start, every hour, and at the end. */
export class LastTime implements AsyncDisposable {
  readonly #options: LastTimeOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: LastTimeOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Keeps the time once more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { everyMs = EVERY_MS } = this.#options;
    while (!this.#closing.signal.aborted) {
      await this.#keep();
      await pause(everyMs, this.#closing.signal);
    }
    await this.#keep();
  }

  /** Writes a new file and renames it, so that the file is always complete. */
  async #keep(): Promise<void> {
    const { dataDir, clock, logger } = this.#options;
    const path = join(dataDir, NAME);
    try {
      await writeFile(`${path}.new`, `${new Date(clock.now()).toISOString()}\n`, { mode: 0o600 });
      await rename(`${path}.new`, path);
    } catch (error) {
      logger.warn({ err: error }, 'the time could not be kept in the data folder; it is tried again in an hour');
    }
  }
}
