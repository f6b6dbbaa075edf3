/**
 * Names that the store does not know. Anybody can invent them, so looking them up must cost the store very little.
 */

import { MillraceError } from '#domain/errors.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';
import { FairTurns } from '#lib/fair-turns.ts';
import { networkOf } from '#lib/network-of.ts';

/** The number of names remembered as unknown. When it is exceeded, the one looked up longest ago is forgotten. */
const MAX_NAMES = 10_000;
/** The number of unknown names that one network may ask for in a minute. Players that wait for a few streams never need more. */
const UNKNOWN_PER_MINUTE = 600;
/** How many names are looked up at one time, how many may wait, in places shared among networks, and for how long. */
const MAX_LOOKS = 32;
const MAX_WAITING = 256;
const LONGEST_WAIT_MS = 5000;

const TOO_MANY = new MillraceError(
  'too_many_viewers',
  'Too many streams are being looked up, or your network asks for too many that do not exist; try again soon.',
  { retryAfterS: 1 },
);

/** Looks a name up. Undefined when it is unknown. */
type Find<Answer> = () => Promise<{ readonly answer: Answer } | undefined>;

/** The options of {@link UnknownNames}. */
export interface UnknownNamesOptions {
  /** The number of milliseconds for which a name that was not found is taken to be unknown. */
  readonly keptForMs: number;
  readonly clock: Clock;
}

/**
 * Looks names up, each name at most once at a time. Networks take turns, and each may ask for a limited number of unknown names. Unknown
 * names are remembered for a moment.
 */
export class UnknownNames<Answer> {
  readonly #options: UnknownNamesOptions;
  /** The unknown names, the oldest first, each with the monotonic time until which it is taken to be unknown. */
  readonly #nowhere = new BoundedMap<string, number>(MAX_NAMES);
  /** The lookups in progress by their names, which all networks share. */
  readonly #looks = new Map<string, Promise<Answer | undefined>>();
  /** The lookups that wait or are in progress, by network and name, so that no network has to wait for the turn of another one. */
  readonly #waiting = new Map<string, Promise<Answer | undefined>>();
  readonly #turns = new FairTurns({
    atOnce: MAX_LOOKS,
    waiting: MAX_WAITING,
    longestWaitMs: LONGEST_WAIT_MS,
    refusal: () => TOO_MANY,
  });
  readonly #throttle: AttemptThrottle;

  constructor(options: UnknownNamesOptions) {
    this.#options = options;
    this.#throttle = new AttemptThrottle({ perMinute: UNKNOWN_PER_MINUTE, clock: options.clock });
  }

  /**
   * Finds what a name stands for. Undefined when it is unknown.
   * @param address the address of the caller; unknown names count against its network
   * @param find looks the name up, and gives undefined when it is unknown
   * @throws {MillraceError} `too_many_viewers` when this network asks for too many unknown names, or all networks together for too many names;
   *   also the errors of `find`
   */
  async look(name: string, address: string, find: Find<Answer>): Promise<Answer | undefined> {
    if (this.#isNowhere(name)) return undefined;
    const underWay = this.#looks.get(name);
    if (underWay !== undefined) return await underWay;
    return await shared(this.#waiting, `${networkOf(address)} ${name}`, () =>
      this.#turns.run(address, () => this.#inTurn(name, address, find)),
    );
  }

  /** Looks a name up, unless another network's lookup of it ended or began while this one waited for its turn. */
  async #inTurn(name: string, address: string, find: Find<Answer>): Promise<Answer | undefined> {
    if (this.#isNowhere(name)) return undefined;
    return await shared(this.#looks, name, () => {
      if (this.#throttle.retryAfterS(address) > 0) throw TOO_MANY;
      return this.#find(name, address, find);
    });
  }

  async #find(name: string, address: string, find: Find<Answer>): Promise<Answer | undefined> {
    const found = await find();
    if (found === undefined) {
      this.#throttle.failed(address);
      this.#nowhere.set(name, this.#options.clock.monotonic() + this.#options.keptForMs);
    }
    return found?.answer;
  }

  #isNowhere(name: string): boolean {
    const until = this.#nowhere.get(name);
    return until !== undefined && this.#options.clock.monotonic() < until;
  }
}

/** Begins work, unless the work with this key is under way already, whose result is then shared. */
async function shared<Result>(
  underWay: Map<string, Promise<Result>>,
  key: string,
  begin: () => Promise<Result>,
): Promise<Result> {
  const known = underWay.get(key);
  if (known !== undefined) return await known;
  const work = begin();
  underWay.set(key, work);
  try {
    return await work;
  } finally {
    underWay.delete(key);
  }
}
