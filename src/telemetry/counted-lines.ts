/**
 * Log lines about events that anybody can cause without a key. Repeated ones are logged as counts, so that nobody can fill the log.
 */
import { networksOf } from '#lib/network-of.ts';
import type { Logger } from './logger.ts';

/** How long further occurrences of the same kind are only counted. */
const REPORT_INTERVAL_MS = 10_000;
/** The most networks that are counted in one interval. A line with this number means that many or more. */
const MAX_NETWORKS = 1000;

/** The level a line is written at. */
export type CountedLevel = 'info' | 'warn' | 'error';

/** What is known about an occurrence besides its kind. */
export interface Occurrence {
  /** The network address that caused it. */
  readonly address?: string | undefined;
  /** How often it happened; once by default. */
  readonly count?: number;
  /** Further fields for the line that is written at once, so that an operator has one example to look at. */
  readonly example?: object;
}

/** What has happened since the last line. */
interface Unreported {
  count: number;
  readonly networks: Set<string>;
}

/**
 * Writes the first line of a kind at once, and after that one line every 10 s for as long as it goes on happening: how often it happened
 * since the line before, and from how many networks (IPv4 /24, IPv6 /48; at most 1000 are counted).
 */
export class CountedLines implements Disposable {
  readonly #logger: Logger;
  readonly #kinds = new Map<
    string,
    { readonly unreported: Unreported; readonly report: () => void; timer: NodeJS.Timeout }
  >();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Takes note of something that may happen too often for a log line each time.
   * @param kind fields that distinguish kinds of the same message. Their values must be the service's own words, so that there are few.
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
      known.unreported.count += count;
      addNetwork(known.unreported.networks, address);
      return;
    }
    const unreported: Unreported = { count: 0, networks: new Set() };
    const report = () => {
      this.#logger[level]({ ...kind, count: unreported.count, networks: unreported.networks.size }, message);
      unreported.count = 0;
      unreported.networks.clear();
    };
    const timer = setTimeout(() => this.#reportAgain(key), REPORT_INTERVAL_MS).unref();
    this.#kinds.set(key, { unreported, report, timer });
    this.#logger[level]({ ...kind, count, networks: address === undefined ? 0 : 1, ...example }, message);
  }

  /** Logs the counts that have not been logged yet. */
  [Symbol.dispose](): void {
    for (const { unreported, report, timer } of this.#kinds.values()) {
      clearTimeout(timer);
      if (unreported.count > 0) report();
    }
    this.#kinds.clear();
  }

  #reportAgain(key: string): void {
    const kind = this.#kinds.get(key)!;
    if (kind.unreported.count === 0) {
      this.#kinds.delete(key);
      return;
    }
    kind.report();
    kind.timer = setTimeout(() => this.#reportAgain(key), REPORT_INTERVAL_MS).unref();
  }
}

function addNetwork(networks: Set<string>, address: string | undefined): void {
  if (address !== undefined && networks.size < MAX_NETWORKS) networks.add(networksOf(address).site);
}
