/**
 * The queue of packets for a worker, and the record of packets that the worker has not processed yet. The queue is bounded and drops
 * packets up to a keyframe. Pure: the time is passed in.
 *
 * A worker gets only a few packets ahead, so that other messages reach it soon and waiting packets can still be dropped.
 */
import type { HeldEvent, PacketEvent } from '#media/session-event.ts';

/** The number of unprocessed packets that a worker may have: enough to hide the latency of the connection. */
const MAX_IN_HAND = 8;
/** The number of waiting bytes: ten seconds at 25 Mbit/s, or one very large frame. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** The number of waiting packets, for sources with many small ones: ten seconds at 120 frames per second. */
const MAX_WAITING_PACKETS = 1200;

/** An event for a worker: a video packet, or that the last frame is held. */
export type VideoEvent = PacketEvent | HeldEvent;

/** An event on its way to the worker. */
export interface FedEvent {
  readonly event: VideoEvent;
  /** Whether packets between the previous one and this keyframe were dropped. */
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
  /** The times at which the unprocessed packets were sent to the worker, oldest first. Flushes count as packets. */
  #inHand: number[] = [];
  #needsKeyframe = true;
  #gap = false;
  #dropped = 0;
  #open = false;

  /** The number of packets dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The bytes of the packets that wait. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Notes that a new worker has started, without unprocessed packets. */
  open(): void {
    this.#open = true;
    this.#inHand = [];
  }

  /** Notes that the worker is gone with its unprocessed packets. The next worker begins at a keyframe. */
  close(): void {
    this.#open = false;
    this.#dropped += this.#inHand.length;
    this.#inHand = [];
    this.#dropUntil(this.#waiting.findLastIndex(({ event }) => isKeyframe(event)));
    this.#gap = false; // the next worker has received nothing before
  }

  /** Begins another track, with a keyframe. Waiting packets of the previous track are dropped, and those that the worker has are not. */
  reset(): void {
    this.#dropUntil(-1);
    this.#gap = false;
  }

  /** Takes an event. It, or others, may be dropped when they cannot be used. */
  offer(event: VideoEvent, nowMs: number): void {
    if (this.#needsKeyframe && !isKeyframe(event)) {
      this.#dropped += 1;
      return;
    }
    // There is no worker. Only the newest two segments with which renditions can begin are worth keeping.
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
   * The next event for the worker. Undefined when the worker has enough, or nothing waits.
   * @param all returns an event however many the worker has, because a message must be sent after everything that waits
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

  /** Notes that another message was sent which the worker will report as done. */
  sent(nowMs: number): void {
    this.#inHand.push(nowMs);
  }

  /** Notes that the worker processed this many messages. Returns false when it never had them. */
  done(count: number): boolean {
    if (count > this.#inHand.length) return false;
    this.#inHand.splice(0, count);
    return true;
  }

  /** The age of the oldest unprocessed packet. */
  lagMs(nowMs: number): number {
    const since = this.#inHand[0] ?? this.#waiting[0]?.sinceMs ?? nowMs;
    return Math.max(0, nowMs - since);
  }

  /**
   * Drops the waiting packets before the newest keyframe. When that is the first packet, drops everything up to the next keyframe that
   * arrives.
   */
  skip(): void {
    const newest = this.#waiting.findLastIndex(({ event }) => isKeyframe(event));
    this.#dropUntil(newest > 0 ? newest : -1);
  }

  /** Drops the packets before an index. With -1, drops all, and later packets until a keyframe. */
  #dropUntil(index: number): void {
    const count = index === -1 ? this.#waiting.length : index;
    if (index === -1) this.#needsKeyframe = true;
    if (count === 0) return;
    for (const { event } of this.#waiting.splice(0, count)) this.#waitingBytes -= bytesOf(event);
    this.#dropped += count;
    this.#gap = true;
  }
}
