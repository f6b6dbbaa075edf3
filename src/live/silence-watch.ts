/**
 * Notices that the audio of a publisher is silent. It inspects one packet in each second while there is sound. After a silent packet it
 * inspects every packet until one has sound. Otherwise short sounds a second apart, such as those of a metronome, would be taken for
 * silence.
 */
import { isSilentAac } from '#media/codecs/aac-silence-detector.ts';
import type { Packet } from '#media/packet.ts';
import type { Track } from '#media/track.ts';

/** The time between two packets that are inspected while there is sound, in seconds of media. */
const EVERY_S = 1;

/** Watches the audio of one session. Only AAC is inspected, because in other codecs silence cannot be recognised without decoding. */
export class SilenceWatch {
  #dueS = Number.NEGATIVE_INFINITY;
  #lookedS = 0;
  #silentSinceS: number | undefined;

  /** For how long the audio has been silent, in seconds of media. */
  get silentS(): number {
    return this.#silentSinceS === undefined ? 0 : this.#lookedS - this.#silentSinceS;
  }

  /**
   * Takes the next packet.
   * @param mediaS its session time in seconds
   * @param isUsed whether viewers get it. They get silence in place of audio that comes too late.
   */
  add(track: Track, { data }: Packet, mediaS: number, isUsed = true): void {
    const isDue = mediaS >= this.#dueS || this.#silentSinceS !== undefined;
    if (track.codec !== 'aac' || !isDue) return;
    this.#dueS = mediaS + EVERY_S;
    this.#lookedS = mediaS;
    this.#silentSinceS = !isUsed || isSilentAac(data) ? (this.#silentSinceS ?? mediaS) : undefined;
  }

  /** Forgets earlier silence. Called after a jump of timestamps, and when a publisher has come back. */
  restart(): void {
    this.#dueS = Number.NEGATIVE_INFINITY;
    this.#silentSinceS = undefined;
  }
}
