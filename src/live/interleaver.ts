/**
 * Puts the audio of a publisher in step with its video. Encoders make audio and video independently of each other, so either of them may
 * always be sent later than the other for the same moment. Pure: it reads no clock.
 */
import type { Packet } from '#media/packet.ts';
import type { SelectedTrack } from './track-selection.ts';

/**
 * How far apart audio and video of the same time may arrive, in seconds. This bounds how much audio waits for its video, and how far the
 * audio playlist may lag.
 */
export const MAX_APART_S = 3;
/** Audio that is less than this ahead of the video, in seconds, does not wait, because publishers send audio and video in turns. */
const IN_TURNS_S = 0.35;
/** More time than this between two audio packets is a pause, in seconds. The longest packets last 0.12 s. */
const PAUSE_S = 0.2;

/** The most bytes of audio that wait: more than three seconds of any codec have. With more, nothing waits, so that nobody fills memory. */
const MAX_WAITING_BYTES = 2 * 1024 * 1024;

/** A packet in session time, with its track. */
export interface PlacedPacket {
  readonly selected: SelectedTrack;
  readonly packet: Packet;
}

/** Orders the packets of one start of media. Takes packets that are in session time. */
export class Interleaver {
  /** The decoding times of the newest video packet and the newest audio packet, in seconds. Minus infinity before the first one. */
  #videoS = Number.NEGATIVE_INFINITY;
  #audioS = Number.NEGATIVE_INFINITY;
  /** How much later than the audio of the same time the newest video packet came. The next one is expected to be as late. */
  #videoLateS = 0;
  #audioLateS = 0;
  #early: readonly (PlacedPacket & { readonly atS: number })[] = [];
  /** The bytes of audio that waits. */
  #earlyBytes = 0;

  /** How much later than the video of the same time the audio comes, in seconds, and at most {@link MAX_APART_S}. */
  get audioLateS(): number {
    return this.#audioLateS;
  }

  /** Takes the next packet of a track. @returns the packets that are due now */
  next(selected: SelectedTrack, packet: Packet): readonly PlacedPacket[] {
    const atS = packet.dts / selected.track.timescale;
    if (selected.track.kind === 'video') {
      this.#videoS = atS;
      this.#videoLateS = latenessS(atS, this.#audioS);
      const due = { selected, packet };
      return this.#early.length === 0 ? [due] : [due, ...this.#takeUntil(atS)];
    }
    // While the audio paused, the arrival of video packets did not show how late they were.
    if (atS - this.#audioS > PAUSE_S) this.#videoLateS = latenessS(this.#videoS, atS);
    this.#audioS = atS;
    this.#audioLateS = latenessS(atS, this.#videoS);
    const waitS = this.#videoLateS > IN_TURNS_S ? this.#videoLateS : 0;
    // Usually nothing waits, and this is called for each packet.
    if (waitS === 0 && this.#early.length === 0) return [{ selected, packet }];
    this.#early = [...this.#early, { selected, packet, atS }];
    this.#earlyBytes += packet.data.byteLength;
    if (this.#earlyBytes > MAX_WAITING_BYTES) return this.#takeUntil(Infinity);
    return this.#takeUntil(atS - waitS);
  }

  #takeUntil(untilS: number): readonly PlacedPacket[] {
    const count = this.#early.findLastIndex(({ atS }) => atS <= untilS) + 1;
    const due = this.#early.slice(0, count);
    this.#early = this.#early.slice(count);
    for (const { packet } of due) this.#earlyBytes -= packet.data.byteLength;
    return due;
  }
}

function latenessS(atS: number, otherS: number): number {
  const lateS = otherS - atS;
  return Number.isFinite(lateS) ? Math.min(MAX_APART_S, Math.max(0, lateS)) : 0;
}
