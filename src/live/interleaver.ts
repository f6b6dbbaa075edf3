/**
 * Puts the audio of a publisher in step with its video. Encoders make both independently, so that one of them may always be sent later than
 * the other of the same time. Pure: no clock.
 */
import type { Packet } from '#media/packet.ts';
import type { SelectedTrack } from './track-selection.ts';

/**
 * How far audio and video of the same time may be apart when they come, in seconds. It bounds the audio that waits for its video, and how
 * far the audio playlist may lag.
 */
export const MAX_APART_S = 3;
/** Audio that is less than this ahead of the video does not wait, because publishers send both in turns. */
const IN_TURNS_S = 0.35;
/** The time between two audio packets that is a pause, in seconds. The longest packets last 0.12 s. */
const PAUSE_S = 0.2;

/** A packet in session time, with its track. */
export interface PlacedPacket {
  readonly selected: SelectedTrack;
  readonly packet: Packet;
}

/** The interleaver for one start of media. Packets come in session time. */
export class Interleaver {
  /** The times of the newest frame and the newest audio. Infinite before the first. */
  #videoS = Number.NEGATIVE_INFINITY;
  #audioS = Number.NEGATIVE_INFINITY;
  /** How much later than the audio of the same time the newest frame came. The next one is expected to be as late. */
  #videoLateS = 0;
  #audioLateS = 0;
  #early: readonly (PlacedPacket & { readonly atS: number })[] = [];

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
      return [{ selected, packet }, ...this.#takeUntil(atS)];
    }
    // During a pause of the audio, frames did not tell how late they came.
    if (atS - this.#audioS > PAUSE_S) this.#videoLateS = latenessS(this.#videoS, atS);
    this.#audioS = atS;
    this.#audioLateS = latenessS(atS, this.#videoS);
    this.#early = [...this.#early, { selected, packet, atS }];
    return this.#takeUntil(atS - (this.#videoLateS > IN_TURNS_S ? this.#videoLateS : 0));
  }

  #takeUntil(untilS: number): readonly PlacedPacket[] {
    const count = this.#early.findLastIndex(({ atS }) => atS <= untilS) + 1;
    const due = this.#early.slice(0, count);
    this.#early = this.#early.slice(count);
    return due;
  }
}

function latenessS(atS: number, otherS: number): number {
  const lateS = otherS - atS;
  return Number.isFinite(lateS) ? Math.min(MAX_APART_S, Math.max(0, lateS)) : 0;
}
