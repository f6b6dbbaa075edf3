/**
 * What waits for a worker and what a worker has in hand: a queue with a bound, which drops to a keyframe. Pure: it is told the time.
 *
 * A worker is given only a few packets ahead, so that whatever else it is told reaches it soon, and what waits can still be dropped.
 */
import type { HeldEvent, PacketEvent } from '#media/session-event.ts';

/** Packets a worker may have in hand: enough to hide the way there and back. */
const MAX_IN_HAND = 8;
/** Bytes waiting: ten seconds at 25 Mbit/s, or one enormous frame. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** Packets waiting, for sources of many tiny ones: ten seconds at 120 frames a second. */
const MAX_WAITING_PACKETS = 1200;

/** What a worker is given: a packet of the video, or that its last frame is held. */
export type VideoEvent = PacketEvent | HeldEvent;

/** An event on its way to the worker. */
export interface FedEvent {
  readonly event: VideoEvent;
  /** Packets between the one before and this keyframe were dropped. */
  readonly afterGap: boolean;
}

interface Waiting {
  readonly event: VideoEvent;
  readonly sinceMs: number;
}

const isKeyframe = (event: VideoEvent): boolean => event.type === 'packet' && event.packet.keyframe;

/** Whether renditions can begin with this event. */
const beginsSegment = (event: VideoEvent): boolean =>
  event.type === 'packet' && event.packet.keyframe && event.packet.mark !== undefined;

const bytesOf = (event: VideoEvent): number => (event.type === 'packet' ? event.packet.data.length : 0);

/** The queue of one session. */
export class Feed {
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** Since when the worker has had each packet to deal with, oldest first; flushes count as packets. */
  #inHand: number[] = [];
  #needsKeyframe = true;
  #gap = false;
  #dropped = 0;
  #open = false;

  /** Packets dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** A worker is there and has nothing in hand. */
  open(): void {
    this.#open = true;
    this.#inHand = [];
  }

  /** The worker is gone with what it had in hand; the next one begins at a keyframe. */
  close(): void {
    this.#open = false;
    this.#dropped += this.#inHand.length;
    this.#inHand = [];
    this.#dropUntil(this.#waiting.findLastIndex(({ event }) => isKeyframe(event)));
    this.#gap = false; // the next worker has no past
  }

  /** Another track begins, with a keyframe: what waits of the one before is dropped, what is in hand is not. */
  reset(): void {
    this.#dropUntil(-1);
    this.#gap = false;
  }

  /** Takes an event; drops it, or others, when it cannot be of use. */
  offer(event: VideoEvent, nowMs: number): void {
    if (this.#needsKeyframe && !isKeyframe(event)) {
      this.#dropped += 1;
      return;
    }
    // There is no worker to read: only the newest two segments, with which renditions can begin, are worth keeping.
    if (!this.#open && beginsSegment(event)) {
      const last = this.#waiting.findLastIndex((each) => beginsSegment(each.event));
      if (last > 0) this.#dropUntil(last);
    }
    this.#needsKeyframe = false;
    this.#waiting.push({ event, sinceMs: nowMs });
    this.#waitingBytes += bytesOf(event);
    if (this.#waitingBytes > MAX_WAITING_BYTES || this.#waiting.length > MAX_WAITING_PACKETS) this.skip();
  }

  /**
   * The next event for the worker; undefined when it has enough in hand or nothing waits.
   * @param all however much it has in hand: something must be said after all that waits
   */
  next({ all = false } = {}): FedEvent | undefined {
    if (!this.#open || (!all && this.#inHand.length >= MAX_IN_HAND)) return undefined;
    const first = this.#waiting.shift();
    if (first === undefined) return undefined;
    this.#waitingBytes -= bytesOf(first.event);
    this.#inHand.push(first.sinceMs);
    const afterGap = this.#gap;
    this.#gap = false;
    return { event: first.event, afterGap };
  }

  /** Something else was sent that the worker will report as done. */
  sent(nowMs: number): void {
    this.#inHand.push(nowMs);
  }

  /** The worker dealt with that many; false when it never had them. */
  done(count: number): boolean {
    if (count > this.#inHand.length) return false;
    this.#inHand.splice(0, count);
    return true;
  }

  /** Age of the oldest packet not dealt with. */
  lagMs(nowMs: number): number {
    const since = this.#inHand[0] ?? this.#waiting[0]?.sinceMs ?? nowMs;
    return Math.max(0, nowMs - since);
  }

  /** Drops what waits before the newest keyframe; where that is the first packet, everything up to the next keyframe that comes. */
  skip(): void {
    const newest = this.#waiting.findLastIndex(({ event }) => isKeyframe(event));
    this.#dropUntil(newest > 0 ? newest : -1);
  }

  /** Drops the packets before an index; with -1 all, and those to come until a keyframe. */
  #dropUntil(index: number): void {
    const count = index === -1 ? this.#waiting.length : index;
    if (index === -1) this.#needsKeyframe = true;
    if (count === 0) return;
    for (const { event } of this.#waiting.splice(0, count)) this.#waitingBytes -= bytesOf(event);
    this.#dropped += count;
    this.#gap = true;
  }
}
