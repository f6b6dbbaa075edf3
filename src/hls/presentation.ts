/**
 * The presentation: all renditions of a session together, from packets to what viewers ask for.
 */

import type { Packet } from '#media/packet.ts';
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { Track } from '#media/track.ts';
import { GapFiller, inStepS } from './gap-filler.ts';
import type {
  MediaAnswer,
  MemoryAccount,
  MemoryHolder,
  PlaylistAnswer,
  PlaylistDirectives,
  Presentation,
  PresentationOptions,
  Waiting,
} from './hls.ts';
import { renderMultivariantPlaylist } from './multivariant-playlist.ts';
import type { Packager } from './packager.ts';
import { PlaylistText } from './rendered-playlist.ts';
import { Rendition } from './rendition.ts';
import { SegmentGrid } from './segment-grid.ts';
import type { ServerControl } from './tags.ts';
import { WaitingRoom } from './waiting-room.ts';

/** An expected rendition that ends this close to the furthest one is in step with it: two parts. */
const CAUGHT_UP_S = 2 * PART_LENGTH_S;

/** An empty presentation; viewers who ask already wait for its first part. */
export function createPresentation(options: PresentationOptions): Presentation {
  return new LivePresentation(options);
}

class LivePresentation implements Presentation, MemoryHolder {
  readonly #options: PresentationOptions;
  readonly #renditions = new Map<string, Rendition>();
  /** On their way; looked at only until the presentation is shown. */
  readonly #expected = new Set<string>();
  /** Packagers that have had their first mark. */
  readonly #begun: Packager[] = [];
  readonly #grid: SegmentGrid;
  readonly #gaps: GapFiller;
  readonly #waiting: WaitingRoom;
  /** Set when every rendition known had its first part, and constant from then on. */
  #serverControl: ServerControl | undefined;
  #multivariant: PlaylistText | undefined;
  #phase: 'live' | 'ended' | 'closed' = 'live';
  readonly #account: MemoryAccount;
  #memory: 'enough' | 'exhausted' | 'reported' = 'enough';

  constructor(options: PresentationOptions) {
    this.#options = options;
    this.#account = options.memory.open(options.memoryUser, this);
    this.#grid = new SegmentGrid(options.continued);
    this.#gaps = new GapFiller(this.#grid, options.targetDurationS);
    this.#waiting = new WaitingRoom(3 * options.targetDurationS * 1000);
  }

  get stats() {
    let mediaBytes = 0;
    for (const rendition of this.#renditions.values()) mediaBytes += rendition.mediaBytes;
    return { mediaBytes, lastMediaSequence: this.#options.firstMediaSequence + this.#grid.last };
  }

  setTrack(renditionId: string, track: Track, declaredBitrateBps: number | undefined, peakBitrateBps?: number): void {
    if (this.#phase !== 'live') return;
    let rendition = this.#renditions.get(renditionId);
    if (rendition === undefined) {
      rendition = this.#createRendition(renditionId, track);
      this.#renditions.set(renditionId, rendition);
    }
    rendition.setTrack(track, declaredBitrateBps, peakBitrateBps);
    rendition.changed();
  }

  expect(renditionIds: readonly string[]): void {
    for (const id of renditionIds) this.#expected.add(id);
  }

  unexpect(renditionIds: readonly string[]): void {
    for (const id of renditionIds) this.#expected.delete(id);
    this.#announce();
  }

  write(renditionId: string, packet: Packet): void {
    const rendition = this.#renditions.get(renditionId);
    if (rendition === undefined || this.#phase !== 'live' || this.#memory !== 'enough') return;
    this.#gaps.bridge(rendition.packager, packet, this.#begun);
    rendition.packager.write(packet);
    if (rendition.packager.started && !this.#begun.includes(rendition.packager)) this.#begun.push(rendition.packager);
    if (packet.mark !== undefined) this.#gaps.stop();
    this.#gaps.keepInStep(this.#begun);
    this.#announce();
  }

  fillGap(untilS: number): number {
    if (this.#phase !== 'live') return this.#grid.last + 1;
    const ordinal = this.#gaps.fill(this.#begun, untilS);
    this.#announce();
    return ordinal;
  }

  end(): void {
    if (this.#phase !== 'live') return;
    this.#phase = 'ended';
    for (const rendition of this.#renditions.values()) rendition.packager.closeSegment();
    this.#becomeReady();
    for (const rendition of this.#renditions.values()) rendition.end();
    this.#waiting.wake();
  }

  multivariant(waiting: Waiting): Promise<PlaylistAnswer> {
    return this.#waiting.wait<PlaylistAnswer>(() => this.#multivariantAnswer(), { type: 'timeout' }, waiting);
  }

  async playlist(renditionId: string, directives: PlaylistDirectives, waiting: Waiting): Promise<PlaylistAnswer> {
    if (!this.#renditions.has(renditionId) && this.#awaitsOldPublisher()) {
      const answer = await this.multivariant(waiting);
      if (answer.type !== 'playlist') return answer;
    }
    return this.#renditions.get(renditionId)?.playlist(directives, waiting) ?? { type: 'not_found' };
  }

  async media(renditionId: string, name: string, waiting: Waiting): Promise<MediaAnswer> {
    return this.#renditions.get(renditionId)?.media(name, waiting) ?? { type: 'not_found' };
  }

  [Symbol.dispose](): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    for (const rendition of this.#renditions.values()) rendition.close();
    this.#account[Symbol.dispose]();
    this.#waiting.wake();
  }

  giveBackRetired(): boolean {
    let hasGiven = false;
    for (const rendition of this.#renditions.values()) if (rendition.forgetOldest()) hasGiven = true;
    return hasGiven;
  }

  giveUp(): void {
    this[Symbol.dispose]();
    if (this.#memory === 'reported') return;
    this.#memory = 'reported';
    this.#options.onMemoryExhausted();
  }

  /** After a restart of the server viewers come back before their publisher does, with names they know from before. */
  #awaitsOldPublisher(): boolean {
    return this.#options.continued && this.#serverControl === undefined && this.#phase === 'live';
  }

  #createRendition(id: string, track: Track): Rendition {
    const { targetDurationS, windowS, epoch, firstMediaSequence, firstDiscontinuitySequence } = this.#options;
    return new Rendition({
      id,
      track,
      targetDurationS,
      windowS,
      epoch,
      firstMediaSequence,
      firstDiscontinuitySequence,
      addedS: Math.max(0, ...this.#begun.map((packager) => packager.endS)),
      grid: this.#grid,
      host: {
        reserve: (sizeBytes) => this.#reserve(sizeBytes),
        release: (sizeBytes) => this.#account.give(sizeBytes),
        serverControl: () => this.#serverControl,
        reports: (except) =>
          [...this.#renditions.values()].flatMap((each) => (each === except ? [] : (each.report() ?? []))),
      },
    });
  }

  /** Lets everyone who waits see what changed, and reports what is to be reported, when all is consistent again. */
  #announce(): void {
    const first = this.#becomeReady();
    let changed = first;
    for (const rendition of this.#renditions.values()) {
      if (rendition.announce()) changed = true;
      // Playlists were held back until now, of renditions that did not change as well.
      else if (first) rendition.changed();
    }
    if (changed) this.#waiting.wake();
    if (first) this.#options.onFirstPart();
    if (this.#memory === 'exhausted') {
      this.#memory = 'reported';
      this.#options.onMemoryExhausted();
    }
  }

  /** Fixes what all playlists must have in common, as soon as that is known. @returns whether that is now */
  #becomeReady(): boolean {
    if (this.#serverControl !== undefined) return false;
    const renditions = [...this.#renditions.values()];
    const leadS = Math.max(0, ...this.#begun.map(({ endS }) => endS));
    const startS = Math.min(...this.#begun.map(({ window }) => window.segments[0]?.startS ?? leadS));
    const listed = renditions.filter((each) => each.hasParts);
    if (listed.length === 0) return false;
    const partTargetS = Math.max(...listed.map(({ packager }) => packager.partTargetS ?? 0));
    // One that was announced but never came is not waited for longer than one that falls behind.
    const frameS = Math.max(...listed.map(({ packager }) => packager.frameS));
    const awaited = (each: Rendition) =>
      each.packager.started || leadS - Math.max(startS, each.addedS) <= inStepS(frameS);
    if (this.#phase === 'live' && renditions.some((each) => !each.hasParts && awaited(each))) return false;
    // Renditions begin later than the source, and work off what came meanwhile: playlists that are shown must be in step.
    const isCatchingUp = (id: string) => {
      const rendition = this.#renditions.get(id);
      return rendition === undefined || leadS - rendition.packager.endS > CAUGHT_UP_S;
    };
    const isExpected = leadS - startS <= this.#options.targetDurationS && [...this.#expected].some(isCatchingUp);
    if (this.#phase === 'live' && isExpected) return false;
    const { targetDurationS } = this.#options;
    this.#serverControl = {
      partHoldBackS: 3 * Math.max(PART_LENGTH_S, partTargetS),
      holdBackS: 3 * targetDurationS,
      canSkipUntilS: 6 * targetDurationS,
    };
    return true;
  }

  #multivariantAnswer(): PlaylistAnswer | undefined {
    if (this.#phase === 'closed') return { type: 'not_found' };
    if (this.#serverControl === undefined) return this.#phase === 'live' ? undefined : { type: 'not_found' };
    const text = renderMultivariantPlaylist(this.#offered().map((each) => each.listed(this.#options.uriPrefix)));
    const ended = this.#phase === 'ended';
    if (this.#multivariant?.text !== text || this.#multivariant.ended !== ended) {
      this.#multivariant = new PlaylistText(text, ended);
    }
    return { type: 'playlist', playlist: this.#multivariant, validity: 'current' };
  }

  /**
   * Those a new viewer may begin with: where there are pictures at all, no variant of nothing but gaps, which is not being made any
   * more. Those who watch one go on finding its playlist.
   */
  #offered(): readonly Rendition[] {
    const begun = [...this.#renditions.values()].filter((each) => each.hasParts);
    const isVideo = ({ packager }: Rendition) => packager.track.kind === 'video';
    const hasPictures = begun.some((each) => isVideo(each) && each.hasMedia);
    return begun.filter((each) => !(hasPictures && isVideo(each)) || each.hasMedia);
  }

  #reserve(sizeBytes: number): boolean {
    if (this.#account.take(sizeBytes)) return true;
    if (this.#memory === 'enough') this.#memory = 'exhausted';
    return false;
  }
}
