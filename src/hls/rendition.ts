/**
 * One rendition as viewers see it: its playlist, its resources and the requests that wait for them.
 */
import { PART_LENGTH_S } from '#media/part-length.ts';
import type { RenditionId, SessionEvent } from '#media/session-event.ts';
import type { Track } from '#media/track.ts';
import { BitrateMeter, type DeclaredBitrates } from './bitrate-meter.ts';
import { type PlaylistEdge, readiness, seesOnlySegments } from './blocking-reload.ts';
import type { MediaAnswer, MediaResource, Packaged, PlaylistAnswer, PlaylistDirectives, Waiting } from './hls.ts';
import { type RenditionReport, renderMediaPlaylist, skippableSegments } from './media-playlist.ts';
import type { ListedRendition } from './multivariant-playlist.ts';
import { Packager, type PackagerOptions, segmentName } from './packager.ts';
import { PlaylistText } from './rendered-playlist.ts';
import type { ServerControl } from './tags.ts';
import { WaitingRoom } from './waiting-room.ts';
import type { Segment } from './window.ts';

/** What a rendition needs from its presentation. */
export interface RenditionHost {
  /** Takes memory. Returns false when there is none left. */
  reserve(sizeBytes: number): boolean;
  /** Gives memory back that was taken by {@link reserve}. */
  release(sizeBytes: number): void;
  /** Called with what was packaged. */
  packaged(id: RenditionId, packaged: Packaged): void;
  /** The session time in seconds until which a rendition that ends now is shown. It is the same for all that end together. */
  endS(): number;
  /** What all playlists have in common. Undefined while the presentation is not ready: no playlist is answered until then. */
  serverControl(): ServerControl | undefined;
  /** The newest positions of all other renditions. */
  reports(except: Rendition): readonly RenditionReport[];
}

/** The options of a rendition. */
export interface RenditionOptions extends Omit<PackagerOptions, 'output'> {
  readonly id: RenditionId;
  readonly track: Track;
  /** The session time that the other renditions had reached when this one was added. */
  readonly addedS: number;
  /** How long a request is held for an answer, in milliseconds. */
  readonly longestHoldMs: number;
  readonly host: RenditionHost;
}

/**
 * - `live`: it is being written
 * - `ended`: its playlist has ended
 * - `gone`: it has ended although the session goes on. It has no playlist, so that its viewers change to another rendition.
 * - `closed`: all its media is freed
 */
type Phase = 'live' | 'ended' | 'gone' | 'closed';

/** A rendition's packager, its media, and the requests that wait for it. */
export class Rendition {
  readonly packager: Packager;
  readonly #options: RenditionOptions;
  readonly #resources = new Map<string, MediaResource>();
  readonly #bitrates: BitrateMeter;
  readonly #waiting: WaitingRoom;
  #declared: DeclaredBitrates = { averageBps: undefined, peakBps: undefined };
  #phase: Phase = 'live';
  /** The number of the newest segment before this rendition began again; -1 if it never did. */
  #oldMsn = -1;
  /** The playlist rendered since the last change. */
  #full: PlaylistText | undefined;
  #delta: PlaylistText | undefined;
  /** The playlist of complete segments only, for players that fail at parts in a short playlist. */
  #segmentsOnly: PlaylistText | undefined;
  /** The segments of the window when it was last checked for a change. */
  #announced: readonly Segment[] = [];
  /** The size of the media that is held, in bytes. */
  #mediaBytes = 0;

  constructor(options: RenditionOptions) {
    this.#options = options;
    this.#bitrates = new BitrateMeter(options.targetDurationS);
    this.#waiting = new WaitingRoom(options.longestHoldMs);
    this.packager = new Packager(options.track, {
      ...options,
      output: {
        reserve: (sizeBytes) => this.#reserve(sizeBytes),
        store: (name, resource) => this.#resources.set(name, resource),
        discard: (name) => this.#resources.delete(name),
        packaged: (packaged) => this.#packaged(packaged),
      },
    });
  }

  /** The name of its playlist, relative to the session's media path. */
  get playlistName(): string {
    return `${encodeURIComponent(this.#options.id)}.m3u8`;
  }

  /** The session time that the other renditions had reached when this one was added. */
  get addedS(): number {
    return this.#options.addedS;
  }

  /**
   * Whether its playlist has something to list, and PART-TARGET is known. A rendition that begins again has nothing to list until its first
   * new part.
   */
  get hasParts(): boolean {
    const { window, partTargetS } = this.packager;
    if (this.#phase === 'gone' || partTargetS === undefined) return false;
    return window.segments.some(({ msn, parts }) => msn > this.#oldMsn && parts.length > 0);
  }

  /** Whether a segment has begun, so that there is something to list now or soon. */
  get hasBegun(): boolean {
    return this.#lastMsn > this.#oldMsn;
  }

  /** Whether its sequence has ended. It may begin again. */
  get hasEnded(): boolean {
    return this.#phase !== 'live';
  }

  /** Takes the next event of its sequence. */
  write(event: SessionEvent): void {
    switch (event.type) {
      case 'track':
        if (this.hasEnded) this.#beginAgain();
        this.#declared = { averageBps: event.averageBps ?? this.#declared.averageBps, peakBps: event.peakBps };
        this.packager.setTrack(event.track);
        this.changed();
        break;
      case 'packet':
        this.packager.packet(event.packet);
        break;
      case 'held':
        this.packager.hold(event);
        break;
      case 'gap':
        this.packager.gap(event);
        break;
      case 'end':
        this.#end();
        break;
    }
  }

  /**
   * Must be called after events were written. If they changed the playlist, waiting requests are checked again.
   * @returns whether the playlist changed
   */
  announce(): boolean {
    const { segments } = this.packager.window;
    if (segments === this.#announced) return false;
    this.#announced = segments;
    this.changed();
    return true;
  }

  /** Checks waiting requests again. */
  changed(): void {
    this.#full = undefined;
    this.#delta = undefined;
    this.#segmentsOnly = undefined;
    if (this.#phase === 'live' && this.hasParts) this.packager.announcePart();
    for (const segment of this.packager.window.takeExpired(this.packager.endS)) this.#forget(segment);
    this.#waiting.wake();
  }

  /** Removes the playlist of a rendition that has ended while others continue. */
  leave(): void {
    if (this.#phase === 'ended') this.#phase = 'gone';
    this.changed();
  }

  /** Frees media that no playlist lists any more. @returns false when there was none */
  forgetOldest(): boolean {
    const segment = this.packager.window.takeRetired();
    if (segment !== undefined) this.#forget(segment);
    return segment !== undefined;
  }

  /** Frees all memory and answers all waiting requests. */
  close(): void {
    this.#phase = 'closed';
    this.#resources.clear();
    this.#options.host.release(this.#mediaBytes);
    this.#mediaBytes = 0;
    this.#waiting.wake();
  }

  /** The playlist, held until it contains what the directives name. */
  playlist(directives: PlaylistDirectives, waiting: Waiting): Promise<PlaylistAnswer> {
    return this.#waiting.wait<PlaylistAnswer>(() => this.#answer(directives), { type: 'timeout' }, waiting);
  }

  /** A resource by its name. A part that playlists have announced is waited for. */
  media(name: string, waiting: Waiting): Promise<MediaAnswer> {
    const look = (): MediaAnswer | undefined => {
      const resource = this.#resources.get(name);
      if (resource !== undefined) return { type: 'media', resource };
      const announced = this.#phase === 'live' && this.hasParts && this.packager.announcePart() === name;
      return announced ? undefined : { type: 'not_found' };
    };
    return this.#waiting.wait<MediaAnswer>(look, { type: 'timeout' }, waiting);
  }

  /** Its newest position, for the playlists of other renditions. Undefined while it has nothing to list. */
  report(): RenditionReport | undefined {
    if (!this.hasParts) return undefined;
    const last = this.packager.window.segments.findLast((segment) => segment.parts.length > 0);
    return last && { uri: this.playlistName, lastMsn: last.msn, lastPart: last.parts.length - 1 };
  }

  /** Its description for the multivariant playlist. */
  listed(uriPrefix: string): ListedRendition {
    const { track, framesPerSecond } = this.packager;
    const uri = `${uriPrefix}/${this.playlistName}`;
    const bitrates = this.#bitrates.rates(track, this.#declared, framesPerSecond);
    const { codecString } = track;
    return track.kind === 'video'
      ? {
          kind: 'video',
          uri,
          codecString,
          bitrates,
          width: track.width,
          height: track.height,
          framesPerSecond,
          videoRange: track.videoRange,
        }
      : { kind: 'audio', uri, codecString, bitrates, name: this.#options.id, channels: track.channels };
  }

  #answer(directives: PlaylistDirectives): PlaylistAnswer | undefined {
    if (this.#phase === 'closed') return { type: 'not_found' };
    const serverControl = this.#options.host.serverControl();
    if (serverControl === undefined || !this.hasParts)
      return this.#phase === 'live' ? undefined : { type: 'not_found' };
    const edge = this.#edge();
    const ready = readiness(directives, edge);
    // After EXT-X-ENDLIST nothing is waited for and nothing is skipped (§6.2.5). Requests that waited for the next part share one answer.
    if (this.#phase === 'ended') {
      const isUsual = ready.type === 'wait' || (ready.type === 'now' && ready.validity !== 'unshared');
      return { type: 'playlist', playlist: this.#render(serverControl), validity: isUsual ? 'current' : 'unshared' };
    }
    if (ready.type === 'bad_request') return ready;
    if (ready.type === 'wait') return undefined;
    if (seesOnlySegments(directives, edge)) {
      return { type: 'playlist', playlist: this.#renderSegments(serverControl), validity: ready.validity };
    }
    const playlist = directives.skip ? this.#renderDelta(serverControl) : this.#render(serverControl);
    return { type: 'playlist', playlist, validity: ready.validity };
  }

  get #lastMsn(): number {
    return this.packager.window.segments.at(-1)?.msn ?? -1;
  }

  #beginAgain(): void {
    this.#phase = 'live';
    this.#oldMsn = this.#lastMsn;
  }

  #edge(): PlaylistEdge {
    const { segments, open } = this.packager.window;
    const complete = segments.findLast((segment) => segment.complete);
    return {
      segments: segments.length - (open === undefined ? 0 : 1),
      lastMsn: complete?.msn ?? (segments[0]?.msn ?? 0) - 1,
      lastParts: complete?.parts.length ?? 0,
      growingParts: open?.parts.length ?? 0,
      partTargetS: this.packager.partTargetS ?? PART_LENGTH_S,
    };
  }

  #render(serverControl: ServerControl): PlaylistText {
    this.#full ??= new PlaylistText(this.#text(serverControl, 0), this.#phase === 'ended');
    return this.#full;
  }

  #renderDelta(serverControl: ServerControl): PlaylistText {
    const skip = skippableSegments(this.packager.window, serverControl.canSkipUntilS);
    if (skip === 0) return this.#render(serverControl);
    this.#delta ??= new PlaylistText(this.#text(serverControl, skip), false);
    return this.#delta;
  }

  #renderSegments(serverControl: ServerControl): PlaylistText {
    this.#segmentsOnly ??= new PlaylistText(this.#text(serverControl, 0, true), false);
    return this.#segmentsOnly;
  }

  #text(serverControl: ServerControl, skip: number, segmentsOnly = false): string {
    const { host, id, targetDurationS } = this.#options;
    const { window, partTargetS = PART_LENGTH_S, announcedInit, hasOpenGops } = this.packager;
    const { segments } = window;
    return renderMediaPlaylist(
      {
        segments: segmentsOnly ? segments.filter(({ complete }) => complete) : segments,
        targetDurationS,
        partTargetS,
        serverControl,
        uriPrefix: encodeURIComponent(id),
        ...(!segmentsOnly && { hintedPart: this.packager.announcePart(), hintedInit: announcedInit }),
        hasOpenGops,
        reports: host.reports(this),
        ended: this.#phase === 'ended',
      },
      skip,
    );
  }

  #end(): void {
    if (this.#phase !== 'live') return;
    this.packager.end(this.#options.host.endS());
    this.#phase = 'ended';
    this.#options.host.packaged(this.#options.id, { type: 'end' });
  }

  #packaged(packaged: Packaged): void {
    if (packaged.type === 'segment') this.#bitrates.add(packaged.sizeBytes, packaged.durationS);
    this.#options.host.packaged(this.#options.id, packaged);
  }

  #reserve(sizeBytes: number): boolean {
    if (!this.#options.host.reserve(sizeBytes)) return false;
    this.#mediaBytes += sizeBytes;
    return true;
  }

  #forget({ msn, parts, init }: Segment): void {
    let sizeBytes = 0;
    for (const { name, resource } of parts) {
      this.#resources.delete(name);
      sizeBytes += resource.sizeBytes;
    }
    this.#resources.delete(segmentName(msn));
    if (this.packager.window.oldestInit !== init) this.#resources.delete(init);
    this.#mediaBytes -= sizeBytes;
    this.#options.host.release(sizeBytes);
  }
}
