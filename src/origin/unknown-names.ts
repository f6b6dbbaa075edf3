/**
 * Names that the store does not know. Anybody can invent them, so looking them up must cost the store very little.
 */

import { MillraceError } from '#domain/errors.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';
import { FairSlots } from '#lib/fair-slots.ts';

/** The number of names remembered as unknown. When it is exceeded, the one looked up longest ago is forgotten. */
const MAX_NAMES = 10_000;
/** The number of unknown names that one network may ask for in a minute. Players that wait for a few streams never need more. */
const UNKNOWN_PER_MINUTE = 600;
/** The number of names that are looked up at one time. */
const MAX_LOOKS = 32;
/** The number of names that are looked up at one time for one network. */
const MAX_LOOKS_PER_NETWORK = 4;

const TOO_MANY = new MillraceError(
  'too_many_viewers',
  'Your network asks for too many streams that do not exist; try again soon.',
  { retryAfterS: 1 },
);

/** The options of {@link UnknownNames}. */
export interface UnknownNamesOptions {
  /** The number of milliseconds for which a name that was not found is taken to be unknown. */
  readonly keptForMs: number;
  readonly clock: Clock;
}

/** Looks each name up at most once at a time, limits how often each network may ask, and remembers unknown names for a moment. */
export class UnknownNames<Answer> {
  readonly #options: UnknownNamesOptions;
  /** The unknown names, the oldest first, each with the monotonic time until which it is taken to be unknown. */
  readonly #nowhere = new BoundedMap<string, number>(MAX_NAMES);
  readonly #looks = new Map<string, PromiseWithResolvers<Answer | undefined>>();
  readonly #places = new FairSlots<PromiseWithResolvers<Answer | undefined>>(MAX_LOOKS);
  readonly #throttle: AttemptThrottle;

  constructor(options: UnknownNamesOptions) {
    this.#options = options;
    this.#throttle = new AttemptThrottle({ perMinute: UNKNOWN_PER_MINUTE, clock: options.clock });
  }

  /**
   * Finds what a name stands for. Undefined when it is unknown.
   * @param address the address of the caller; unknown names count against its network
   * @param find looks the name up, and gives undefined when it is unknown
   * @throws {MillraceError} `too_many_viewers` when this network, or all networks together, ask for too many; also the errors of `find`
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
          this.#nowhere.set(name, this.#options.clock.monotonic() + this.#options.keptForMs);
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
}
