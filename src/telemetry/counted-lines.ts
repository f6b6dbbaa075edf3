/**
 * Log lines that somebody without a key can cause: told as counts, so that nobody can fill the log.
 */
import { networksOf } from '#lib/network-of.ts';
import type { Logger } from './logger.ts';

/** How long more of the same are only counted. */
const INTERVAL_MS = 10_000;
/** Networks that are told apart in one interval. A line that says so many means that many or more. */
const MAX_NETWORKS = 1000;

/** The level a line is written at. */
export type CountedLevel = 'info' | 'warn' | 'error';

/** What is known of one occurrence besides its kind. */
export interface Occurrence {
  /** Where it came from. */
  readonly address?: string | undefined;
  /** How often it happened; once by default. */
  readonly count?: number;
  /** Fields of the line that is written at once, so that an operator has one example to look at. */
  readonly example?: object;
}

interface Untold {
  count: number;
  readonly networks: Set<string>;
}

/**
 * Writes the first line of a kind at once, and after that one line every 10 s for as long as there is something to tell: how often it
 * happened since the last line, and from how many networks (IPv4 /24, IPv6 /48; at most 1000 are told apart).
 */
export class CountedLines implements Disposable {
  readonly #logger: Logger;
  readonly #kinds = new Map<string, { readonly untold: Untold; readonly tell: () => void; timer: NodeJS.Timeout }>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Something happened that may happen too often to be told each time.
   * @param kind fields that tell kinds of the same message apart; their values are the service's own words, so they are few
   */
  note(
    level: CountedLevel,
    message: string,
    kind: Readonly<Record<string, string>>,
    { address, count = 1, example }: Occurrence = {},
  ): void {
    const key = JSON.stringify([message, kind]);
    const known = this.#kinds.get(key);
    if (known !== undefined) {
      known.untold.count += count;
      addNetwork(known.untold.networks, address);
      return;
    }
    const untold: Untold = { count: 0, networks: new Set() };
    const tell = () => {
      this.#logger[level]({ ...kind, count: untold.count, networks: untold.networks.size }, message);
      untold.count = 0;
      untold.networks.clear();
    };
    const timer = setTimeout(() => this.#tellAgain(key), INTERVAL_MS).unref();
    this.#kinds.set(key, { untold, tell, timer });
    this.#logger[level]({ ...kind, count, networks: address === undefined ? 0 : 1, ...example }, message);
  }

  /** Tells what has not been told. */
  [Symbol.dispose](): void {
    for (const { untold, tell, timer } of this.#kinds.values()) {
      clearTimeout(timer);
      if (untold.count > 0) tell();
    }
    this.#kinds.clear();
  }

  #tellAgain(key: string): void {
    const kind = this.#kinds.get(key)!;
    if (kind.untold.count === 0) {
      this.#kinds.delete(key);
      return;
    }
    kind.tell();
    kind.timer = setTimeout(() => this.#tellAgain(key), INTERVAL_MS).unref();
  }
}

function addNetwork(networks: Set<string>, address: string | undefined): void {
  if (address !== undefined && networks.size < MAX_NETWORKS) networks.add(networksOf(address).site);
}
