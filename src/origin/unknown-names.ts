/**
 * Names that the store does not know: anybody can make them up, and must not make the store work for it.
 */
import { MillraceError } from '#domain/errors.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import { FairSlots } from '#lib/fair-slots.ts';

/** Names that were nowhere when they were looked up last; beyond it the one looked up longest ago is forgotten. */
const MAX_NAMES = 10_000;
/** Names one network may ask for in vain each minute: more than players that wait for the same few streams ever do. */
const UNKNOWN_PER_MINUTE = 600;
/** Looks at one time, in all and for one network. */
const MAX_LOOKS = 32;
const MAX_LOOKS_PER_NETWORK = 4;

const TOO_MANY = new MillraceError(
  'too_many_viewers',
  'Too many streams that nobody knows are asked for from your network; try again soon.',
  { retryAfterS: 1 },
);

/** What {@link UnknownNames} is made with. */
export interface UnknownNamesOptions {
  /** How long a name that was nowhere is taken to be nowhere, in milliseconds. */
  readonly keptForMs: number;
  readonly clock: Clock;
}

/** Looks names up at most once at a time each, at most so often for each network, and remembers for a moment which are nowhere. */
export class UnknownNames<Answer> {
  readonly #options: UnknownNamesOptions;
  /** With the monotonic time until which they are taken to be nowhere; the oldest first. */
  readonly #nowhere = new Map<string, number>();
  readonly #looks = new Map<string, PromiseWithResolvers<Answer | undefined>>();
  readonly #places = new FairSlots<PromiseWithResolvers<Answer | undefined>>(MAX_LOOKS);
  readonly #throttle: AttemptThrottle;

  constructor(options: UnknownNamesOptions) {
    this.#options = options;
    this.#throttle = new AttemptThrottle({ perMinute: UNKNOWN_PER_MINUTE, clock: options.clock });
  }

  /**
   * What a name stands for; undefined when it stands for nothing.
   * @param address of who asks: its network pays for names that stand for nothing
   * @param find gives undefined for a name that is nowhere
   * @throws {MillraceError} `too_many_viewers` when that network, or everybody together, asks for too many; and what `find` throws
   */
  async look(
    name: string,
    address: string,
    find: () => Promise<{ readonly answer: Answer } | undefined>,
  ): Promise<Answer | undefined> {
    const until = this.#nowhere.get(name);
    if (until !== undefined && this.#options.clock.monotonic() < until) return undefined;
    const underWay = this.#looks.get(name);
    if (underWay !== undefined) return await underWay.promise;
    return await this.#begin(name, address, find).promise;
  }

  #begin(
    name: string,
    address: string,
    find: () => Promise<{ readonly answer: Answer } | undefined>,
  ): PromiseWithResolvers<Answer | undefined> {
    if (this.#throttle.retryAfterS(address) > 0 || this.#places.ofHost(address) >= MAX_LOOKS_PER_NETWORK)
      throw TOO_MANY;
    const look = Promise.withResolvers<Answer | undefined>();
    const admission = this.#places.enter(look, address);
    if (!admission.admitted) throw TOO_MANY;
    admission.evicted?.reject(TOO_MANY);
    this.#looks.set(name, look);
    const finish = (): void => {
      this.#places.leave(look);
      this.#looks.delete(name);
    };
    find().then(
      (found) => {
        finish();
        if (found === undefined) {
          this.#throttle.failed(address);
          this.#isNowhere(name);
        }
        look.resolve(found?.answer);
      },
      (error: unknown) => {
        finish();
        look.reject(error);
      },
    );
    return look;
  }

  #isNowhere(name: string): void {
    this.#nowhere.delete(name);
    for (const oldest of this.#nowhere.keys()) {
      if (this.#nowhere.size < MAX_NAMES) break;
      this.#nowhere.delete(oldest);
    }
    this.#nowhere.set(name, this.#options.clock.monotonic() + this.#options.keptForMs);
  }
}
