/**
 * The presentation: all renditions of a session together, from their sequences to what viewers request.
 */
import { AUDIO_RENDITION, SOURCE_RENDITION } from '#domain/profile.ts';
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { RenditionId, SessionEvent } from '#media/session-event.ts';
import type { Track } from '#media/track.ts';
import type {
  MediaAnswer,
  MemoryAccount,
  MemoryHolder,
  PartSink,
  PlaylistAnswer,
  PlaylistDirectives,
  Presentation,
  PresentationOptions,
  Waiting,
} from './hls.ts';
import { ListStarts } from './list-starts.ts';
import { renderMultivariantPlaylist } from './multivariant-playlist.ts';
import { largestPartTargetS } from './part-builder.ts';
import { PartSinks } from './part-sinks.ts';
import { PlaylistText } from './rendered-playlist.ts';
import { Rendition } from './rendition.ts';
import type { ServerControl } from './tags.ts';
import { WaitingRoom } from './waiting-room.ts';

/**
 * How long offered renditions are waited for, in seconds of media. A transcoder starts after the first second, and needs another one, or
 * several on a busy machine. Players that begin without these renditions stay on the source, or without audio. It is shorter than the time
 * for which requests are held, which is at least 6 s.
 */
const OFFERED_WITHIN_S = 4;
/** An offered rendition that ends at most two parts before the furthest one is in step with it. */
const CAUGHT_UP_S = 2 * PART_LENGTH_S;
/**
 * How long the first part of a rendition with a track is waited for, in seconds, in addition to the frames that its encoder holds. Audio
 * may come up to three seconds later than the video (`MAX_APART_S` of `live/interleaver.ts`), and its first part takes a moment more.
 */
const FIRST_PART_S = 3.5;
/** The number of frames not written yet: one until its duration is known, and one in the encoder. */
const FRAMES_IN_HAND = 2;

/** How long the last frame of a session is shown after everything written, in seconds: about two frames. */
const END_S = 0.1;

/** Makes an empty presentation. Viewers may already wait for its first part. */
export function createPresentation(options: PresentationOptions): Presentation {
  return new LivePresentation(options);
}

class LivePresentation implements Presentation, MemoryHolder {
  readonly isRequired = true;
  readonly #options: PresentationOptions;
  readonly #renditions = new Map<RenditionId, Rendition>();
  /** The renditions that new viewers may begin with, besides the source. */
  #offered: readonly RenditionId[] = [];
  readonly #listStarts = new ListStarts();
  readonly #sinks: PartSinks;
  readonly #waiting: WaitingRoom;
  /** Set when every known rendition has its first part, and constant from then on. */
  #serverControl: ServerControl | undefined;
  /** The session time in seconds at which the renditions that ended last end. */
  #endS = 0;
  #multivariant: PlaylistText | undefined;
  #phase: 'live' | 'ended' | 'closed' = 'live';
  readonly #account: MemoryAccount;
  readonly #longestHoldMs: number;
  #memory: 'enough' | 'exhausted' | 'reported' = 'enough';

  constructor(options: PresentationOptions) {
    this.#options = options;
    this.#account = options.memory.open(options.memoryUser, this);
    this.#sinks = new PartSinks(options.onSinkFailed);
    this.#longestHoldMs = options.longestHoldMs ?? 3 * options.targetDurationS * 1000;
    this.#waiting = new WaitingRoom(this.#longestHoldMs);
  }

  write(renditionId: RenditionId, event: SessionEvent): void {
    // Without memory nothing more is shown, but the playlists still end.
    if (this.#phase !== 'live' || (this.#memory !== 'enough' && event.type !== 'end')) return;
    let rendition = this.#renditions.get(renditionId);
    if (rendition === undefined) {
      if (event.type !== 'track') return;
      rendition = this.#createRendition(renditionId, event.track);
      this.#renditions.set(renditionId, rendition);
    }
    rendition.write(event);
    if (event.type === 'end') this.#onEnd(rendition);
    else if (event.type !== 'track') this.#announce();
    if (this.#memory === 'exhausted') {
      this.#memory = 'reported';
      this.#options.onMemoryExhausted();
    }
  }

  offer(renditionIds: readonly RenditionId[]): void {
    this.#offered = renditionIds;
    this.#announce();
  }

  showNow(): void {
    if (this.#phase === 'live') this.#announce({ isPatient: false });
  }

  attach(sink: PartSink): Disposable {
    const inits = [...this.#renditions].flatMap(([id, { packager }]) =>
      packager.inits.map((init) => [id, init] as const),
    );
    return this.#sinks.attach(sink, inits);
  }

  multivariant(waiting: Waiting): Promise<PlaylistAnswer> {
    return this.#waiting.wait<PlaylistAnswer>(() => this.#multivariantAnswer(), { type: 'timeout' }, waiting);
  }

  async playlist(renditionId: RenditionId, directives: PlaylistDirectives, waiting: Waiting): Promise<PlaylistAnswer> {
    if (!this.#renditions.has(renditionId) && this.#awaitsOldPublisher()) {
      const answer = await this.multivariant(waiting);
      if (answer.type !== 'playlist') return answer;
    }
    return this.#renditions.get(renditionId)?.playlist(directives, waiting) ?? { type: 'not_found' };
  }

  async media(renditionId: RenditionId, name: string, waiting: Waiting): Promise<MediaAnswer> {
    return this.#renditions.get(renditionId)?.media(name, waiting) ?? { type: 'not_found' };
  }

  [Symbol.dispose](): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    for (const rendition of this.#renditions.values()) rendition.close();
    // A session is remembered for some seconds after its presentation. The newest keyframe and part must not stay in memory with it.
    this.#renditions.clear();
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

  /** Whether viewers may come with URLs from before a restart of the server, because their publisher is not back yet. */
  #awaitsOldPublisher(): boolean {
    return this.#options.continued && this.#serverControl === undefined && this.#phase === 'live';
  }

  #createRendition(id: RenditionId, track: Track): Rendition {
    const { targetDurationS, windowS, epoch, firstMediaSequence, firstDiscontinuitySequence } = this.#options;
    return new Rendition({
      id,
      track,
      targetDurationS,
      windowS,
      listStarts: this.#listStarts,
      epoch,
      firstMediaSequence,
      firstDiscontinuitySequence,
      addedS: this.#leadS,
      longestHoldMs: this.#longestHoldMs,
      host: {
        reserve: (sizeBytes) => this.#reserve(sizeBytes),
        release: (sizeBytes) => this.#account.give(sizeBytes),
        packaged: (renditionId, packaged) => this.#sinks.write(renditionId, packaged),
        endS: () => this.#nextEndS(),
        serverControl: () => this.#serverControl,
        reports: (except) =>
          [...this.#renditions.values()].flatMap((each) => (each === except ? [] : (each.report() ?? []))),
      },
    });
  }

  /** The end of the furthest rendition, in seconds of session time. */
  get #leadS(): number {
    let leadS = 0;
    for (const { packager } of this.#renditions.values()) if (packager.started) leadS = Math.max(leadS, packager.endS);
    return leadS;
  }

  #nextEndS(): number {
    const live = [...this.#renditions.values()].filter(({ hasEnded, packager }) => !hasEnded && packager.started);
    const leadS = Math.max(0, ...live.map(({ packager }) => packager.shownEndS));
    if (leadS > this.#endS - END_S / 2) this.#endS = leadS + END_S;
    return this.#endS;
  }

  /**
   * Handles the end of a rendition. The session has ended when all its renditions have. A rendition that ends alone has no playlist from
   * then on.
   */
  #onEnd(rendition: Rendition): void {
    if ([...this.#renditions.values()].some((each) => !each.hasEnded)) {
      // Waits a turn, because the others may end as well.
      queueMicrotask(() => {
        if (this.#phase === 'live') rendition.leave();
      });
      return;
    }
    this.#phase = 'ended';
    this.#becomeReady({ isPatient: false });
    for (const each of this.#renditions.values()) each.changed();
    this.#waiting.wake();
  }

  /**
   * Wakes all waiting requests and reports what is due, once the state is consistent again.
   * @param options.isPatient whether renditions whose first part is still to come are waited for
   */
  #announce({ isPatient = true } = {}): void {
    const first = this.#becomeReady({ isPatient });
    let changed = first;
    for (const rendition of this.#renditions.values()) {
      if (rendition.announce()) changed = true;
      // Playlists were held until now, also those of renditions that did not change.
      else if (first) rendition.changed();
    }
    if (changed) this.#waiting.wake();
    if (first) this.#options.onFirstPart();
  }

  /** Fixes what all playlists must have in common, as soon as it is known. @returns whether that happened now */
  #becomeReady({ isPatient }: { readonly isPatient: boolean }): boolean {
    if (this.#serverControl !== undefined) return false;
    const renditions = [...this.#renditions.values()];
    if (!isPatient) for (const { packager } of renditions) packager.settle();
    const listed = renditions.filter((each) => each.hasParts);
    if (listed.length === 0) return false;
    const leadS = this.#leadS;
    const startS = Math.min(...listed.map(({ packager }) => packager.window.segments[0]?.startS ?? leadS));
    const partTargetS = Math.max(PART_LENGTH_S, ...renditions.map(({ packager }) => packager.partTargetS ?? 0));
    if (isPatient && this.#isAwaited(listed, { leadS, startS })) return false;
    const { targetDurationS, profiles } = this.#options;
    // The renditions of profiles with few frames a second may come later.
    const later = profiles.flatMap(({ fps, fpsDen = 1 }) => (fps === 0 ? [] : largestPartTargetS(fps / fpsDen)));
    this.#serverControl = {
      partHoldBackS: 3 * Math.max(partTargetS, ...later),
      holdBackS: 3 * targetDurationS,
      canSkipUntilS: 6 * targetDurationS,
    };
    return true;
  }

  /** Whether the first part of a rendition is still waited for. */
  #isAwaited(listed: readonly Rendition[], { leadS, startS }: { leadS: number; startS: number }): boolean {
    // A rendition that was announced but never came is waited for no longer than its encoder may take.
    const timeoutS = FIRST_PART_S + FRAMES_IN_HAND * Math.max(...listed.map(({ packager }) => packager.frameS));
    const isComing = (each: Rendition) =>
      !each.hasEnded && !each.hasParts && (each.hasBegun || leadS - Math.max(startS, each.addedS) <= timeoutS);
    if ([...this.#renditions.values()].some(isComing)) return true;
    if (leadS - startS > OFFERED_WITHIN_S) return false;
    // Renditions begin later than the source, and catch up with the media that came in the meantime. Playlists must be in step when they
    // are shown.
    return this.#offered.some((id) => {
      const rendition = this.#renditions.get(id);
      return rendition === undefined || leadS - rendition.packager.endS > CAUGHT_UP_S;
    });
  }

  #multivariantAnswer(): PlaylistAnswer | undefined {
    if (this.#phase === 'closed') return { type: 'not_found' };
    if (this.#serverControl === undefined) return this.#phase === 'live' ? undefined : { type: 'not_found' };
    const isListed = ([id, rendition]: readonly [RenditionId, Rendition]) =>
      rendition.hasParts && (isOfSource(id) || this.#offered.includes(id));
    const listed = [...this.#renditions].filter(isListed);
    const text = renderMultivariantPlaylist(listed.map(([, each]) => each.listed(this.#options.uriPrefix)));
    const ended = this.#phase === 'ended';
    if (this.#multivariant?.text !== text || this.#multivariant.ended !== ended) {
      this.#multivariant = new PlaylistText(text, ended);
    }
    return { type: 'playlist', playlist: this.#multivariant, validity: 'current' };
  }

  #reserve(sizeBytes: number): boolean {
    if (this.#memory !== 'enough') return false;
    if (this.#account.take(sizeBytes)) return true;
    this.#memory = 'exhausted';
    return false;
  }
}

function isOfSource(id: RenditionId): boolean {
  return id === SOURCE_RENDITION || id === AUDIO_RENDITION;
}
