/**
 * Decides when a source that ends its workers is refused. Pure: no I/O, no clock.
 */
import type { Size } from './size.ts';
import type { RestartReason } from './transcoder.ts';

/** The number of lost workers after which a source is refused. */
const MAX_LOSSES = 2;
/** A worker that crashes later than this does not count against its source, which it decoded well for a while. */
const EARLY_MS = 10_000;
/** The signals of crashes. All other signals are sent by another process. */
const CRASHES: ReadonlySet<number | string> = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP']);

/** How a worker was lost. */
export interface Loss {
  readonly reason: RestartReason;
  /** An exit code or the name of a signal. */
  readonly exit: number | string | undefined;
  /** How long the worker ran after it was ready. */
  readonly ranMs: number;
}

/** Counts the workers that the video of one session has ended, whichever transcoders of the session they belonged to. */
export class SourceTrust {
  #losses = 0;
  #hasTriedAgain = false;
  #size: Size | undefined;

  /** Whether the source is refused. */
  get isRefused(): boolean {
    return this.#losses >= MAX_LOSSES;
  }

  /** Counts a lost worker, if decoding this source may be the cause. */
  workerLost({ reason, exit, ranMs }: Loss): void {
    const isCrash = typeof exit === 'number' ? exit !== 0 : CRASHES.has(exit ?? '');
    if (reason === 'too_much_memory' || (reason === 'exited' && isCrash && ranMs < EARLY_MS)) this.#losses += 1;
  }

  /**
   * Notes the size of the video. A refused source that gets another size may end one more worker, but only once in a session.
   * @returns whether the video may be decoded
   */
  accepts({ width, height }: Size): boolean {
    const isOther = this.#size?.width !== width || this.#size.height !== height;
    this.#size = { width, height };
    if (this.isRefused && isOther && !this.#hasTriedAgain) {
      this.#hasTriedAgain = true;
      this.#losses = MAX_LOSSES - 1;
    }
    return !this.isRefused;
  }
}
