/**
 * How often a source may break its worker: a pure rule.
 */
import type { RestartReason } from './transcoder.ts';

/** Losses after which a source is not tried again. */
const MAX_LOSSES = 2;
/** A crash this long after the start is not put down to the source: it decoded well for a while. */
const EARLY_MS = 10_000;
/** Signals by which a process is ended for what it did itself; others are sent by somebody else. */
const CRASHES: ReadonlySet<number | string> = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP']);

/** How a worker was lost. */
export interface Loss {
  readonly reason: RestartReason;
  /** An exit code or a signal's name. */
  readonly exit: number | string | undefined;
  /** From when it was ready. */
  readonly ranMs: number;
}

/** What is held against the video of one session. */
export class SourceTrust {
  #losses = 0;
  #hasTriedAgain = false;

  /** It has broken as many workers as it may. */
  get isLost(): boolean {
    return this.#losses >= MAX_LOSSES;
  }

  /** A worker was lost while this source was decoded. */
  lost({ reason, exit, ranMs }: Loss): void {
    const isCrash = typeof exit === 'number' ? exit !== 0 : CRASHES.has(exit ?? '');
    if (reason === 'too_much_memory' || (reason === 'exited' && isCrash && ranMs < EARLY_MS)) this.#losses += 1;
  }

  /** The source has another size from now on: one that was given up may break one more worker, once in a session. */
  resized(): void {
    if (!this.isLost || this.#hasTriedAgain) return;
    this.#hasTriedAgain = true;
    this.#losses = MAX_LOSSES - 1;
  }
}
