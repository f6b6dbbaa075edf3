/**
 * Begins TLS handshakes, a few at a time: each takes about a millisecond of the event loop, more than anything else a stranger can cause.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Milliseconds } from '#lib/units.ts';
import { MAX_TLS_HANDSHAKES, TLS_PATIENCE_MS } from './config.ts';
import { ReservedSlots } from './reserved-slots.ts';

/** A connection that waits for its TLS handshake. */
export interface TlsCandidate {
  /** Identifies the connection. An id is never used twice. */
  readonly id: number;
  readonly socket: Socket;
  readonly address: string;
  /** Whether its host published here during the last day. */
  readonly isKnown: boolean;
  /** Monotonic time. */
  readonly openedAt: Milliseconds;
}

/** The server that the handshakes belong to. */
export interface TlsOwner {
  /** Wraps the socket of a connection in TLS. */
  secure(socket: Socket): TLSSocket;
  /** Called when a handshake begins. */
  onBegun(candidate: TlsCandidate, secured: TLSSocket): void;
  /** Called when a connection ended before its handshake began. @param why undefined when its peer closed it */
  onGivenUp(candidate: TlsCandidate, why: string | undefined): void;
  /** Called when a connection whose handshake is under way must be closed, because another one gets its place. */
  onEvicted(id: number): void;
}

/**
 * Makes connections wait, in the order of their first bytes, until few enough handshakes are under way, and begins one handshake in each
 * turn of the event loop. A connection that has waited too long takes the place of a handshake under way, as {@link ReservedSlots} decides.
 *
 * The number of waiting connections is bounded by their admission: each has a place among the connections that do not publish.
 */
export class TlsHandshakes {
  readonly #owner: TlsOwner;
  readonly #timeoutMs: number;
  readonly #underWay = new ReservedSlots<number>(MAX_TLS_HANDSHAKES);
  /** Connections that have not sent a byte. */
  readonly #silent = new Map<number, TlsCandidate>();
  /** Connections whose first bytes have come, in that order, and since when they wait. */
  readonly #waiting = new Map<number, { readonly candidate: TlsCandidate; readonly since: Milliseconds }>();
  #now: Milliseconds;
  #isScheduled = false;

  /**
   * @param options.timeoutMs the time within which a handshake must begin
   * @param options.now monotonic time
   */
  constructor(owner: TlsOwner, { timeoutMs, now }: { readonly timeoutMs: number; readonly now: Milliseconds }) {
    this.#owner = owner;
    this.#timeoutMs = timeoutMs;
    this.#now = now;
  }

  /** Whether no connection waits for its handshake. */
  get isEmpty(): boolean {
    return this.#silent.size === 0 && this.#waiting.size === 0;
  }

  /** Takes a connection, whose socket nobody has read from. */
  add(candidate: TlsCandidate): void {
    const { id, socket } = candidate;
    this.#silent.set(id, candidate);
    socket.on('error', () => {}); // the end follows as `close`
    socket.once('close', () => this.#giveUp(candidate, undefined));
    // The first bytes stay in the socket, from which TLS reads them.
    socket.once('readable', () => {
      if (socket.readableLength === 0) this.#giveUp(candidate, undefined);
      else if (this.#silent.delete(id)) {
        this.#waiting.set(id, { candidate, since: this.#now });
        this.#schedule();
      }
    });
  }

  /** Notes that a handshake is done, or that its connection is gone. */
  leave(id: number): void {
    this.#underWay.leave(id);
    this.#schedule();
  }

  /** Closes a connection that has not begun its handshake. Does nothing for others. */
  evict(id: number, why: string): void {
    const candidate = this.#silent.get(id) ?? this.#waiting.get(id)?.candidate;
    if (candidate !== undefined) this.#giveUp(candidate, why);
  }

  /** Closes the connections whose handshake has not begun within the time limit. @param now monotonic time */
  tick(now: Milliseconds): void {
    this.#now = now;
    const candidates = [...this.#silent.values(), ...this.#waiting.values().map(({ candidate }) => candidate)];
    for (const candidate of candidates) {
      if (now - candidate.openedAt >= this.#timeoutMs) this.#giveUp(candidate, 'handshake_timeout');
    }
    this.#schedule();
  }

  /** Closes every connection that has not begun its handshake. */
  close(): void {
    for (const candidate of this.#silent.values()) this.#giveUp(candidate, 'server_stopping');
    for (const { candidate } of this.#waiting.values()) this.#giveUp(candidate, 'server_stopping');
  }

  #giveUp(candidate: TlsCandidate, why: string | undefined): void {
    const { id, socket } = candidate;
    if (!this.#silent.delete(id) && !this.#waiting.delete(id)) return;
    socket.destroy();
    this.#owner.onGivenUp(candidate, why);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#beginNext()) this.#schedule();
    });
  }

  /** Begins the handshake of the first connection that may have a place. Returns false when none may. */
  #beginNext(): boolean {
    for (const { candidate, since } of this.#waiting.values()) {
      const { id, address, isKnown } = candidate;
      const isPatient = this.#now - since < TLS_PATIENCE_MS;
      if (isPatient && !isKnown && !this.#underWay.hasFree) continue;
      const admission = this.#underWay.enter(id, address, isKnown);
      if (!admission.admitted) continue;
      if (admission.evicted !== undefined) this.#owner.onEvicted(admission.evicted);
      this.#begin(candidate);
      return true;
    }
    return false;
  }

  #begin(candidate: TlsCandidate): void {
    const { id, socket } = candidate;
    this.#waiting.delete(id);
    const secured = this.#owner.secure(socket);
    secured.once('secure', () => this.leave(id));
    this.#owner.onBegun(candidate, secured);
  }
}
