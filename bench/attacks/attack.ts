/**
 * What an attack is given, and how its pace is kept.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Whom to attack. */
export interface Target {
  /** HTTP, or HTTPS where the target has a certificate. */
  readonly httpPort: number;
  readonly rtmpPort: number;
  /** 0 without a certificate. */
  readonly rtmpsPort: number;
  /** Path of a media playlist that is there; empty where the attack needs none. */
  readonly playlistPath: string;
  /** Of the customer who attacks; nobody else has any. */
  readonly streamKeys: readonly string[];
}

/** How much an attack has sent. */
export interface Sent {
  requests: number;
  bytes: number;
  connections: number;
}

/** What an attack works with. */
export interface AttackRun {
  readonly target: Target;
  /** The loopback addresses it comes from. */
  readonly addresses: readonly string[];
  readonly sent: Sent;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Goes on until its signal aborts. */
export type Attack = (run: AttackRun) => Promise<void>;

/** What somebody without a key has: the 10,000 requests and 100 Mbit a second. */
export const STRANGER_RATE = { requestsPerS: 10_000, bytesPerS: 12_500_000 } as const;

const TICK_MS = 10;
/** What was not sent in time is not made up for beyond this. */
const MAX_DEBT_S = 0.05;

/** Allows so much a second, in small steps. */
export class Pace {
  readonly #perS: number;
  #allowed = 0;

  constructor(perS: number) {
    this.#perS = perS;
  }

  /** Whether there is something left. */
  get isOpen(): boolean {
    return this.#allowed > 0;
  }

  spend(amount: number): void {
    this.#allowed -= amount;
  }

  /** Adds what the time since the last call is worth. */
  renew(seconds: number): void {
    if (this.#perS === Number.POSITIVE_INFINITY) this.#allowed = this.#perS;
    else this.#allowed = Math.min(this.#allowed + this.#perS * seconds, this.#perS * MAX_DEBT_S);
  }
}

/** Calls a hundred times a second, with the seconds since the last call. */
export async function everyTick(signal: AbortSignal, tick: (seconds: number) => void): Promise<void> {
  for (let last = performance.now(); !signal.aborted; ) {
    await sleep(TICK_MS, undefined, { signal }).catch(() => {});
    const now = performance.now();
    tick((now - last) / 1000);
    last = now;
  }
}

/** Gives the elements of a list in turn, for ever. */
export function inTurn<Element>(list: readonly Element[]): () => Element {
  let next = 0;
  return () => {
    const element = list[next % list.length];
    if (element === undefined) throw new RangeError('there is nothing to take turns');
    next += 1;
    return element;
  };
}
