/**
 * Keeps the first packets to be transcoded until a transcoder takes them, so that renditions begin where the source does.
 */
import type { HeldEvent, PacketEvent } from '#media/session-event.ts';
import type { TrackKind } from '#media/track.ts';

/** The limits of the kept packets. When one is exceeded, everything is dropped, and video is kept again from the next keyframe on. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_PACKETS = 1000;
/** Video older than this is dropped when a new segment begins, so that a transcoder that starts later does not begin so far behind. */
const MAX_VIDEO_S = 3;

/** An event with its decoding time in seconds. */
interface Kept {
  readonly event: PacketEvent | HeldEvent;
  readonly atS: number;
}

/** The events of a session that wait for a transcoder, and how long media has been received. */
export class HeadStart {
  #kept: Kept[] = [];
  #bytes = 0;
  #begun: { readonly atMs: number; readonly atS: number } | undefined;
  #endS = 0;

  /**
   * Keeps an event. Video before the first keyframe is not kept.
   * @param leader the kind of track whose packets measure how long media has lasted
   * @param timescale the timescale of the event's timestamps
   * @param nowMs monotonic time
   */
  add(event: PacketEvent | HeldEvent, leader: TrackKind, timescale: number, nowMs: number): void {
    const kind = event.type === 'packet' ? event.packet.kind : 'video';
    const isKeyframe = event.type === 'packet' && event.packet.keyframe;
    const sizeBytes = sizeOf(event);
    const atS = (event.type === 'packet' ? event.packet.dts : event.pts) / timescale;
    if (kind === leader) {
      this.#begun ??= { atMs: nowMs, atS };
      this.#endS = atS;
    }
    if (kind === 'video' && isKeyframe && event.packet.mark !== undefined) this.#dropOldVideo(atS);
    if (this.#bytes + sizeBytes > MAX_BYTES || this.#kept.length >= MAX_PACKETS) this.clear();
    if (kind === 'video' && !isKeyframe && !this.#kept.some(isVideo)) return;
    this.#kept.push({ event, atS });
    this.#bytes += sizeBytes;
  }

  /** How long media has been received, in milliseconds, by its timestamps or by the clock, whichever is shorter. */
  lastedMs(nowMs: number): number {
    if (this.#begun === undefined) return 0;
    return Math.min(nowMs - this.#begun.atMs, (this.#endS - this.#begun.atS) * 1000);
  }

  /** Hands out the events in the order in which they came, and keeps them no longer. */
  take(): readonly (PacketEvent | HeldEvent)[] {
    const events = this.#kept.map(({ event }) => event);
    this.clear();
    return events;
  }

  /** Drops the events. The time for which media has lasted stays the same. */
  clear(): void {
    this.#kept = [];
    this.#bytes = 0;
  }

  /** Drops the events, and restarts the measurement of how long media has lasted, because media was interrupted. */
  restart(): void {
    this.clear();
    this.#begun = undefined;
  }

  #dropOldVideo(nowS: number): void {
    const first = this.#kept.find(isVideo);
    if (first === undefined || nowS - first.atS <= MAX_VIDEO_S) return;
    this.#kept = this.#kept.filter((each) => !isVideo(each));
    this.#bytes = this.#kept.reduce((sum, { event }) => sum + sizeOf(event), 0);
  }
}

const isVideo = ({ event }: Kept): boolean => event.type === 'held' || event.packet.kind === 'video';

const sizeOf = (event: Kept['event']): number => (event.type === 'packet' ? event.packet.data.length : 0);
