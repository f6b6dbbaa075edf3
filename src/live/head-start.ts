/**
 * Keeps the first packets that are to be transcoded until a transcoder takes them, so that renditions begin where the source does.
 */
import type { Packet } from '#media/packet.ts';
import type { TrackKind } from '#media/track.ts';

/** The most that is kept. Beyond it everything is dropped, and video is kept again from the next keyframe on. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_PACKETS = 1000;
/** Video older than this is dropped when a new segment begins: a transcoder that starts later should not begin so far behind. */
const MAX_VIDEO_S = 3;

/** A packet with its decoding time in seconds. */
interface Kept {
  readonly packet: Packet;
  readonly atS: number;
}

/** The packets of one session that wait for a transcoder, and how long media has been coming in. */
export class HeadStart {
  #kept: Kept[] = [];
  #bytes = 0;
  #begun: { readonly atMs: number; readonly atS: number } | undefined;
  #endS = 0;

  /**
   * Keeps a packet. Video before the first keyframe is not kept.
   * @param leader the kind of track whose packets show how long media has lasted
   * @param timescale of the packet's timestamps
   * @param nowMs monotonic time
   */
  add(packet: Packet, leader: TrackKind, timescale: number, nowMs: number): void {
    const atS = packet.dts / timescale;
    if (packet.kind === leader) {
      this.#begun ??= { atMs: nowMs, atS };
      this.#endS = atS;
    }
    if (packet.kind === 'video' && packet.keyframe && packet.mark !== undefined) this.#dropOldVideo(atS);
    if (this.#bytes + packet.data.length > MAX_BYTES || this.#kept.length >= MAX_PACKETS) this.clear();
    const needsKeyframe = packet.kind === 'video' && !packet.keyframe && !this.#kept.some((each) => isVideo(each));
    if (needsKeyframe) return;
    this.#kept.push({ packet, atS });
    this.#bytes += packet.data.length;
  }

  /** How long media has been coming in, in milliseconds: the shorter of what its timestamps and what the clock say. */
  lastedMs(nowMs: number): number {
    if (this.#begun === undefined) return 0;
    return Math.min(nowMs - this.#begun.atMs, (this.#endS - this.#begun.atS) * 1000);
  }

  /** Hands out the packets in the order in which they came, and keeps them no longer. */
  take(): readonly Packet[] {
    const packets = this.#kept.map(({ packet }) => packet);
    this.clear();
    return packets;
  }

  /** Drops the packets. How long media has lasted stays the same. */
  clear(): void {
    this.#kept = [];
    this.#bytes = 0;
  }

  /** Drops the packets, and measures from zero how long media has lasted: media was interrupted. */
  restart(): void {
    this.clear();
    this.#begun = undefined;
  }

  #dropOldVideo(nowS: number): void {
    const first = this.#kept.find((each) => isVideo(each));
    if (first === undefined || nowS - first.atS <= MAX_VIDEO_S) return;
    this.#kept = this.#kept.filter((each) => !isVideo(each));
    this.#bytes = this.#kept.reduce((sum, { packet }) => sum + packet.data.length, 0);
  }
}

const isVideo = ({ packet }: Kept): boolean => packet.kind === 'video';
