/**
 * The first packets of what is to be transcoded, kept until a transcoder takes them, so that renditions begin where the source does.
 */
import type { Packet } from '#media/packet.ts';
import type { TrackKind } from '#media/track.ts';

/** What is kept at most; more is dropped up to the next keyframe. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_PACKETS = 1000;
/** Pictures older than this are dropped at a keyframe: a transcoder that starts later should not begin so far behind. */
const MAX_VIDEO_S = 3;

/** A packet, and its time in seconds. */
interface Kept {
  readonly packet: Packet;
  readonly atS: number;
}

/** Packets of one session, and how long they have been coming. */
export class HeadStart {
  #kept: Kept[] = [];
  #bytes = 0;
  #begun: { readonly atMs: number; readonly atS: number } | undefined;
  #endS = 0;

  /**
   * Keeps a packet. Video begins with a keyframe.
   * @param leader the kind of packet that tells how long media has lasted
   * @param timescale of the packet's times
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

  /** How long media has come in, by its own times and by the clock: the shorter of both, in ms. */
  lastedMs(nowMs: number): number {
    if (this.#begun === undefined) return 0;
    return Math.min(nowMs - this.#begun.atMs, (this.#endS - this.#begun.atS) * 1000);
  }

  /** The packets that are kept, in their order; they are no longer kept. */
  take(): readonly Packet[] {
    const packets = this.#kept.map(({ packet }) => packet);
    this.clear();
    return packets;
  }

  /** Drops what is kept. Media has lasted no less for that. */
  clear(): void {
    this.#kept = [];
    this.#bytes = 0;
  }

  /** Media is interrupted: drops what is kept, and begins anew. */
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
