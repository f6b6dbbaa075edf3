/**
 * When the source sent no pictures: a rendition has none of that time either, and has lost nothing.
 */

/** Pauses remembered: a rendition is a few seconds behind, and a source that pauses all the time does so a few times a second. */
const REMEMBERED = 64;

/** A stretch of session time as it is shown, in seconds. */
export interface Stretch {
  readonly fromS: number;
  readonly untilS: number;
}

/** The latest pauses of one session's pictures. */
export class SourcePauses {
  #pauses: readonly Stretch[] = [];

  /** Takes one; later than those before. */
  add(pause: Stretch): void {
    this.#pauses = [...this.#pauses, pause].slice(-REMEMBERED);
  }

  /** For how much of a stretch there were pictures, in seconds. */
  picturesS({ fromS, untilS }: Stretch): number {
    const inside = (pause: Stretch) => Math.max(0, Math.min(untilS, pause.untilS) - Math.max(fromS, pause.fromS));
    return this.#pauses.reduce((restS, pause) => restS - inside(pause), untilS - fromS);
  }
}
