/**
 * Holds requests until their answers exist.
 */
import type { Waiting } from './hls.ts';

/** The number of ticks of the longest wait. One timer serves all waiting requests, and a wait ends at most one tick late. */
const TICKS = 12;

interface Waiter {
  /** Called after every change. Answers the request if possible. Never throws. */
  readonly look: () => void;
  readonly expire: () => void;
  ticksLeft: number;
}

/**
 * Holds requests until they can be answered, for a limited time. A held request is one small object and one listener on its signal. The
 * caller limits how many may be held.
 */
export class WaitingRoom {
  readonly #tickMs: number;
  // They are in order of arrival, and all have the same time limit, so the first expires first.
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;

  constructor(longestMs: number) {
    this.#tickMs = Math.ceil(longestMs / TICKS);
  }

  /** The number of requests that wait. */
  get size(): number {
    return this.#waiters.size;
  }

  /**
   * Returns the answer, at once or as soon as `look` returns one.
   * @param look called now and after every change; returns undefined while there is no answer
   * @param late the answer when the time limit has passed
   * @param waiting ends the wait early; its signal is read only when there is no answer at once
   * @throws the signal's reason when it aborts before there is an answer; also the error of reading the signal
   */
  wait<Answer>(look: () => Answer | undefined, late: Answer, waiting: Waiting): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const now = look();
      if (now !== undefined) {
        resolve(now);
        return;
      }
      const { signal } = waiting;
      signal.throwIfAborted();
      const leave = (): void => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', abort);
        if (this.#waiters.size === 0) this.#stop();
      };
      const abort = (): void => {
        leave();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        ticksLeft: TICKS + 1,
        look: () => {
          let answer: Answer | undefined;
          try {
            answer = look();
          } catch (error) {
            // The error belongs to this request only, and not to other waiting requests or to the session that woke them.
            leave();
            reject(error as Error);
            return;
          }
          if (answer === undefined) return;
          leave();
          resolve(answer);
        },
        expire: () => {
          leave();
          resolve(late);
        },
      };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', abort);
      this.#timer ??= setInterval(() => this.#tick(), this.#tickMs).unref();
    });
  }

  /** Checks all waiting requests after a change. */
  wake(): void {
    for (const waiter of this.#waiters) waiter.look();
  }

  #tick(): void {
    for (const waiter of this.#waiters) {
      waiter.ticksLeft -= 1;
      if (waiter.ticksLeft <= 0) waiter.expire();
    }
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
