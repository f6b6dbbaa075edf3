/**
 * What an attack is given, and how its rate is limited.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** The server that is attacked. */
export interface Target {
  /** The port for HTTP, or for HTTPS where the target has a certificate. */
  readonly httpPort: number;
  readonly rtmpPort: number;
  /** The port for RTMPS; 0 without a certificate. */
  readonly rtmpsPort: number;
  /** The path of a media playlist that exists; empty where the attack needs none. */
  readonly playlistPath: string;
  /** The stream keys of the customer who attacks. Other attackers have none. */
  readonly streamKeys: readonly string[];
}

/** How much an attack has sent. */
export interface Sent {
  requests: number;
  bytes: number;
  connections: number;
}

/** The server that an attack is aimed at, and what limits the attack. */
export interface AttackRun {
  readonly target: Target;
  /** The loopback addresses from which the attack comes. */
  readonly addresses: readonly string[];
  readonly sent: Sent;
  /** Ends the attack when it aborts. */
  readonly signal: AbortSignal;
}

/** An attack, which goes on until its signal aborts. */
export type Attack = (run: AttackRun) => Promise<void>;

/** The rate at which somebody without a key attacks: 10,000 requests and 100 Mbit a second. */
export const STRANGER_RATE = { requestsPerS: 10_000, bytesPerS: 12_500_000 } as const;

const TICK_MS = 10;
/** When sending was delayed, the amount of this many seconds may be sent later, and the rest is left out. */
const MAX_DEBT_S = 0.05;

/** Allows an amount a second, in small steps. */
export class Pace {
  readonly #perS: number;
  #allowed = 0;

  constructor(perS: number) {
    this.#perS = perS;
  }

  /** Whether something is allowed now. */
  get isOpen(): boolean {
    return this.#allowed > 0;
  }

  spend(amount: number): void {
    this.#allowed -= amount;
  }

  /** Adds what the seconds since the last call allow. */
  renew(seconds: number): void {
    if (this.#perS === Number.POSITIVE_INFINITY) this.#allowed = this.#perS;
    else this.#allowed = Math.min(this.#allowed + this.#perS * seconds, this.#perS * MAX_DEBT_S);
  }
}

/** Calls `tick` a hundred times a second with the seconds since its last call, until the signal aborts. */
export async function everyTick(signal: AbortSignal, tick: (seconds: number) => void): Promise<void> {
  for (let last = performance.now(); !signal.aborted; ) {
    await sleep(TICK_MS, undefined, { signal }).catch(() => {});
    const now = performance.now();
    tick((now - last) / 1000);
    last = now;
  }
}

/** Makes a function that gives the elements of a list in turn, again and again. */
export function inTurn<Element>(list: readonly Element[]): () => Element {
  let next = 0;
  return () => {
    const element = list[next % list.length];
    if (element === undefined) throw new RangeError('there is nothing to take turns');
    next += 1;
    return element;
  };
}
