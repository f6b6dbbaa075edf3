/**
 * Decides when a source that ends its workers is given up. Pure: no I/O, no clock.
 */
import type { RestartReason } from './transcoder.ts';

/** After this many losses a source is given up. */
const MAX_LOSSES = 2;
/** A worker that crashes later than this does not count against its source, which it decoded well for a while. */
const EARLY_MS = 10_000;
/** The signals that a process brings upon itself; all others are sent by somebody else. */
const CRASHES: ReadonlySet<number | string> = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP']);

/** How a worker was lost. */
export interface Loss {
  readonly reason: RestartReason;
  /** An exit code or a signal's name. */
  readonly exit: number | string | undefined;
  /** How long it ran, from when it was ready. */
  readonly ranMs: number;
}

/** Counts the workers that the video of one session has ended. */
export class SourceTrust {
  #losses = 0;
  #hasTriedAgain = false;

  /** Whether the source is given up. */
  get isLost(): boolean {
    return this.#losses >= MAX_LOSSES;
  }

  /** Counts a worker that was lost while it decoded this source, where the source may be the cause. */
  lost({ reason, exit, ranMs }: Loss): void {
    const isCrash = typeof exit === 'number' ? exit !== 0 : CRASHES.has(exit ?? '');
    if (reason === 'too_much_memory' || (reason === 'exited' && isCrash && ranMs < EARLY_MS)) this.#losses += 1;
  }

  /** Notes that the source has another size. A source that was given up may end one more worker, once in a session. */
  resized(): void {
    if (!this.isLost || this.#hasTriedAgain) return;
    this.#hasTriedAgain = true;
    this.#losses = MAX_LOSSES - 1;
  }
}
