/**
 * Requests that wait for something to exist.
 */
import type { Waiting } from './hls.ts';

/** Ticks a wait is made of: one timer serves all who wait, and a wait ends at most one tick late. */
const TICKS = 12;

interface Waiter {
  /** Called whenever something changed; answers the request when its time has come. Never throws. */
  readonly look: () => void;
  readonly expire: () => void;
  ticksLeft: number;
}

/**
 * Holds requests until they can be answered, for a limited time. A held request is one small object and one listener on its
 * signal; how many may be held is its caller's to limit.
 */
export class WaitingRoom {
  readonly #tickMs: number;
  // In order of arrival, and all wait equally long: the first is the first to expire.
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;

  constructor(longestMs: number) {
    this.#tickMs = Math.ceil(longestMs / TICKS);
  }

  get size(): number {
    return this.#waiters.size;
  }

  /**
   * Returns the answer, at once or as soon as `look` has one.
   * @param look asked now and after every change; undefined as long as there is no answer
   * @param late the answer when it took too long
   * @param waiting ends the wait early; its signal is read only when there is no answer at once
   * @throws the signal's reason when it aborts before there is an answer, and what reading the signal throws
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
            // The error belongs to this request alone, not to the other waiters or to the session that woke them.
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

  /** Something changed: everyone looks again. */
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
