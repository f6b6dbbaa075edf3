/**
 * Keeps playlists moving where media is missing: for all renditions while nobody publishes, for one that falls behind.
 */
import type { Packet } from '#media/packet.ts';
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { Packager } from './packager.ts';
import type { SegmentGrid } from './segment-grid.ts';
import { SourcePauses } from './source-pauses.ts';

/** In seconds, besides the frames an encoder waits for. */
const IN_STEP_S = 1;
/** One until its duration is known, and one the encoder has in hand. */
const IN_STEP_FRAMES = 2;
/** In seconds: when the leading picture is so much further at once, its source had paused. */
const LEAP_S = IN_STEP_S / 2;
/** The longest gap that is filled at once, in seconds. The discontinuity after it shows by its date how much more is missing. */
const MAX_FILL_S = 120;
/** Frames that may be missing between two pictures: one that a lower frame rate leaves out, and one for times that were rounded. */
const LEFT_OUT_FRAMES = 2;

/**
 * How far a rendition may lie behind the leading one, in seconds, before gaps take the place of its media. Pictures may lie a target
 * duration behind sound: a publisher may send none for a while.
 * @param frameS how long its frames last
 */
export function inStepS(frameS: number): number {
  return IN_STEP_S + IN_STEP_FRAMES * frameS;
}

/** A gap segment that is being filled. */
interface GapSegment {
  readonly ordinal: number;
  /** Session time in seconds; the same in all renditions. */
  readonly startS: number;
}

/** Fills the renditions of one session with gap parts and gap segments, aligned over all of them. */
export class GapFiller {
  readonly #grid: SegmentGrid;
  readonly #targetDurationS: number;
  #segment: GapSegment | undefined;
  /** How far the leading picture was last. */
  #pictureLeadS = 0;
  /** Until it is here, pictures that are behind it are not late: it has leapt. */
  #patientUntilS = 0;
  readonly #pauses = new SourcePauses();

  constructor(grid: SegmentGrid, targetDurationS: number) {
    this.#grid = grid;
    this.#targetDurationS = targetDurationS;
  }

  /** Media comes again. */
  stop(): void {
    this.#segment = undefined;
  }

  /**
   * Fills all renditions that have begun up to a session time, but adds at most {@link MAX_FILL_S} in one call.
   * @returns the ordinal the next mark must have
   */
  fill(packagers: readonly Packager[], askedS: number): number {
    if (packagers.length === 0) return this.#grid.last + 1;
    const fromS = this.#segment?.startS ?? Math.min(...packagers.map((packager) => packager.endS));
    const untilS = Math.min(askedS, fromS + MAX_FILL_S);
    if (this.#segment === undefined) {
      for (const packager of packagers) packager.closeSegment(untilS);
      // From the earliest end, so that no gap segment gets longer than the target duration.
      const startS = Math.min(...packagers.map((packager) => packager.endS));
      this.#segment = { ordinal: this.#grid.last + 1, startS };
    }
    let segment = this.#segment;
    for (;;) {
      const endS = segment.startS + this.#targetDurationS;
      const complete = untilS >= endS;
      for (const packager of packagers) this.#fillOne(packager, segment, Math.min(untilS, endS), !complete);
      this.#segment = segment;
      if (!complete) return this.#grid.last + 1;
      segment = { ordinal: segment.ordinal + 1, startS: endS };
    }
  }

  /**
   * Before a picture is written: those of the rendition that are missing in front of it become gaps, where its source had pictures at that
   * time. The picture before would seem to last until then, longer than a part may; where it can, it does: a gap spoils its whole segment.
   * @param begun all renditions that have begun; of those with pictures the first is the source of the others
   */
  bridge(packager: Packager, { kind, dts, mark }: Packet, begun: readonly Packager[]): void {
    const source = begun.find(({ track }) => track.kind === 'video');
    if (source === undefined || kind !== 'video' || mark?.discontinuity || !packager.started) return;
    const endsS = dts / packager.track.timescale;
    const holeS = endsS - packager.endS;
    const { frameS, partTargetS = PART_LENGTH_S } = packager;
    const leastS = Math.max(LEFT_OUT_FRAMES * frameS, partTargetS - frameS);
    if (holeS <= leastS) return;
    const fromS = packager.shownS;
    const untilS = fromS + holeS;
    if (packager === source) this.#pauses.add({ fromS, untilS });
    else if (this.#pauses.picturesS({ fromS, untilS: Math.min(untilS, source.shownS) }) > leastS) packager.lose(endsS);
  }

  /** Gives gap parts to renditions that lie too far behind: pictures behind other pictures, sound behind all, see {@link inStepS}. */
  keepInStep(packagers: readonly Packager[]): void {
    let leadS = 0;
    let pictureLeadS = 0;
    for (const { shownS, frameS, track } of packagers) {
      // Publishers of few pictures send the sound of each with the next one.
      leadS = Math.max(leadS, track.kind === 'video' ? shownS - frameS : shownS);
      if (track.kind === 'video') pictureLeadS = Math.max(pictureLeadS, shownS);
    }
    // Behind a pause: those that must be encoded come a little later.
    if (pictureLeadS - this.#pictureLeadS > LEAP_S) this.#patientUntilS = pictureLeadS + IN_STEP_S;
    this.#pictureLeadS = pictureLeadS;
    const isPatient = pictureLeadS < this.#patientUntilS;
    for (const packager of packagers) {
      const { shownS, track } = packager;
      const isPicture = track.kind === 'video';
      const behindS = (isPicture ? pictureLeadS : leadS) - shownS;
      const stepS = inStepS(packager.frameS);
      const isWaitedFor = () => this.#mayCatchUp(packager) || (isPicture && isPatient);
      if (leadS - shownS <= this.#targetDurationS && (behindS <= stepS || isWaitedFor())) continue;
      // The last part may reach beyond that: so one part is added each time a part's time has passed.
      packager.gapThrough(leadS - stepS + (packager.partTargetS ?? 0), { whole: true });
    }
  }

  /**
   * Before its first part nobody knows how long a rendition's frames are, and one a second is not late. What has just begun, at first
   * or behind a discontinuity, may come from an encoder that had to start.
   */
  #mayCatchUp({ partTargetS, window, endS }: Packager): boolean {
    const begin = window.segments.findLast(({ discontinuity }) => discontinuity) ?? window.segments[0];
    return partTargetS === undefined || endS - (begin?.startS ?? endS) < this.#targetDurationS;
  }

  #fillOne(packager: Packager, { ordinal, startS }: GapSegment, untilS: number, whole: boolean): void {
    if (packager.ordinal < ordinal) {
      // Not before there is something to put into it: an ordinal once opened is spent.
      if (untilS <= packager.endS) return;
      if (whole && untilS - packager.endS < (packager.partTargetS ?? 0)) return;
      packager.openGap(ordinal, startS);
    }
    packager.gapTo(untilS, { whole });
  }
}
