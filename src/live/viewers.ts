/**
 * Counts viewers: the clients that requested a playlist in the last ten seconds, in total and for each playback id.
 */
import type { PlaybackId, UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { FairSlots } from '#lib/fair-slots.ts';

/** A viewer is forgotten this long after its last playlist request. */
const IDLE_MS = 10_000;
/**
 * A viewer that has requested no playlist for this long has probably left, because players request one at least every target duration, 2 s
 * by default.
 */
const PROBABLY_LEFT_MS = 6000;
/**
 * How often a watching viewer becomes the newest of its network again, so that the longest idle one is evicted first. Doing this at every
 * request would cost more than everything else about counting viewers.
 */
const RENEWED_EVERY_MS = 2000;
/** How often a watching viewer is reported to the node of the stream: often enough that it is never forgotten there. */
const REPORTED_EVERY_MS = 3000;
/** The number of viewers on other nodes that are remembered. When it is exceeded, the one reported longest ago is forgotten. */
const MAX_ELSEWHERE = 1_000_000;

/** A client that requests playlists. */
export interface Viewer {
  /** Identifies the viewer. It is short, because it is kept. */
  readonly name: string;
  /** The address of the request. Viewers share the places by their networks. */
  readonly address: string;
  /** The rendition whose playlist is requested, unless it is that of the audio. Undefined for the multivariant playlist. */
  readonly rendition?: string | undefined;
}

/** A viewer, as one node names it to another. */
export interface ReportedViewer {
  readonly name: string;
  /** Whether no node has counted its view yet. */
  readonly isNew: boolean;
}

/** The result of noting a viewer: no place was found for it, its view must be counted now, or it goes on watching. */
export type Noted = 'refused' | 'began' | 'watching';

/** The user whose viewer quota a viewer counts against. */
export interface ViewerQuota {
  readonly ofUser: UserId;
  /** The number of viewers that the user's streams may have together. 0 means no limit. */
  readonly atMost: number;
}

interface Viewing {
  readonly playbackId: PlaybackId;
  readonly name: string;
  readonly ofUser: UserId;
  /** Whether this node or another one has counted its view. That stays so when the stream moves to another node. */
  isCounted: boolean;
  /** The rendition whose playlist was requested last. */
  rendition: string | undefined;
  /** The monotonic time of the last playlist request. */
  seenAt: number;
  /** The monotonic time at which it last took its places. */
  placedAt: number;
  /** The monotonic time at which it was last reported to another node. */
  reportedAt: number;
}

/** The places of one user's viewers. */
interface UserPlaces {
  readonly atMost: number;
  readonly places: FairSlots<string>;
}

/**
 * The present viewers, limited in total and for each user. A client that watches two streams counts twice. When no place is left, the
 * viewer that has been idle the longest in the network with the most viewers makes room for one of another network; see {@link FairSlots}.
 */
export class Viewers {
  /** The viewers that this node serves, the longest idle first. */
  readonly #here = new Map<string, Viewing>();
  /** The viewers that other nodes serve, with the monotonic time at which each was last reported, the earliest first. */
  readonly #elsewhere = new Map<string, { readonly playbackId: PlaybackId; readonly seenAt: number }>();
  /** The number of viewers of each playback id on this node and others. A viewer on both counts once. */
  readonly #counts = new Map<PlaybackId, number>();
  /** The number of viewers that this node serves of each rendition of a playback id. */
  readonly #ofRenditions = new Map<PlaybackId, Map<string, number>>();
  readonly #places: FairSlots<string>;
  readonly #users = new Map<UserId, UserPlaces>();
  /** The viewers of each playback id that are to be reported to another node. */
  readonly #unreported = new Map<PlaybackId, Set<Viewing>>();
  readonly #clock: Clock;

  constructor(limit: number, clock: Clock) {
    this.#places = new FairSlots(limit);
    this.#clock = clock;
  }

  /** The number of viewers that this node serves. */
  get count(): number {
    this.#forgetIdle();
    return this.#here.size;
  }

  /** The number of viewers of one stream, on this node and others. */
  countOf(playbackId: PlaybackId): number {
    this.#forgetIdle();
    return this.#counts.get(playbackId) ?? 0;
  }

  /** The number of viewers of one rendition of a stream that this node serves. Those of other nodes are not known by their renditions. */
  countOfRendition(playbackId: PlaybackId, rendition: string): number {
    this.#forgetIdle();
    return this.#ofRenditions.get(playbackId)?.get(rendition) ?? 0;
  }

  /** The number of viewers that this node serves of the streams of one user. */
  countOfUser(userId: UserId): number {
    this.#forgetIdle();
    return this.#users.get(userId)?.places.size ?? 0;
  }

  /**
   * Notes a playlist request.
   * @param isCountedHere whether this node counts the view. If so, `began` is returned once. If not, another node counts the view when the
   *   viewer is reported
   * @returns `refused` when the viewer is new and no place can be found for it; nothing is noted then
   */
  note(playbackId: PlaybackId, viewer: Viewer, quota: ViewerQuota, isCountedHere: boolean): Noted {
    const key = `${playbackId} ${viewer.name}`;
    const now = this.#clock.monotonic();
    let known = this.#here.get(key);
    if (known === undefined || now - known.seenAt >= IDLE_MS) {
      this.#forgetIdle();
      known = undefined;
    }
    const isPlaced = known !== undefined && now - known.placedAt < RENEWED_EVERY_MS;
    if (!isPlaced && !this.#takePlaces(key, viewer.address, quota)) return 'refused';
    const viewing = known ?? {
      playbackId,
      name: viewer.name,
      ofUser: quota.ofUser,
      isCounted: this.#elsewhere.has(key),
      rendition: undefined,
      seenAt: now,
      placedAt: now,
      reportedAt: Number.NEGATIVE_INFINITY,
    };
    viewing.seenAt = now;
    if (!isPlaced) viewing.placedAt = now;
    if (viewer.rendition !== undefined) this.#watches(viewing, viewer.rendition);
    if (!this.#here.delete(key) && !this.#elsewhere.has(key)) this.#change(playbackId, 1);
    this.#here.set(key, viewing); // at the end, because all others have been idle for longer
    if (now - viewing.reportedAt >= REPORTED_EVERY_MS) this.#toReport(viewing);
    if (!isCountedHere || viewing.isCounted) return 'watching';
    viewing.isCounted = true;
    return 'began';
  }

  /**
   * Notes viewers of a stream that another node serves. They are counted but take no places.
   * @returns how many views must be counted: those of viewers that are new to all nodes
   */
  noteElsewhere(playbackId: PlaybackId, reported: readonly ReportedViewer[]): number {
    this.#forgetIdle();
    const seenAt = this.#clock.monotonic();
    let views = 0;
    for (const { name, isNew } of reported) {
      const key = `${playbackId} ${name}`;
      const here = this.#here.get(key);
      if (!this.#elsewhere.delete(key)) {
        if (isNew && !here?.isCounted) views += 1;
        if (here === undefined) this.#change(playbackId, 1);
        else here.isCounted = true;
      }
      this.#elsewhere.set(key, { playbackId, seenAt });
    }
    for (const [oldest, viewing] of this.#elsewhere) {
      if (this.#elsewhere.size <= MAX_ELSEWHERE) break;
      this.#forgetElsewhere(oldest, viewing.playbackId);
    }
    return views;
  }

  /**
   * Hands out the viewers to be reported to the node of the stream: new ones, and those reported some seconds ago that have sent a request
   * since. Each is handed out once.
   */
  takeUnreported(playbackId: PlaybackId, atMost: number): readonly ReportedViewer[] {
    const unreported = this.#unreported.get(playbackId);
    if (unreported === undefined) return [];
    const reportedAt = this.#clock.monotonic();
    const reported: ReportedViewer[] = [];
    for (const viewing of unreported) {
      if (reported.length >= atMost) break;
      unreported.delete(viewing);
      viewing.reportedAt = reportedAt;
      reported.push({ name: viewing.name, isNew: !viewing.isCounted });
    }
    if (unreported.size === 0) this.#unreported.delete(playbackId);
    return reported;
  }

  /** Notes that the node of the stream has received a report, and therefore has counted these views. */
  reported(playbackId: PlaybackId, viewers: readonly ReportedViewer[]): void {
    for (const { name } of viewers) {
      const viewing = this.#here.get(`${playbackId} ${name}`);
      if (viewing !== undefined) viewing.isCounted = true;
    }
  }

  /** Takes a place among all viewers and one among those of the user, or neither. */
  #takePlaces(key: string, address: string, { ofUser, atMost }: ViewerQuota): boolean {
    const ofThisUser = this.#placesOf(ofUser, atMost);
    if (!this.#enter(ofThisUser, key, address)) return false;
    if (this.#enter(this.#places, key, address)) return true;
    ofThisUser.leave(key);
    if (ofThisUser.size === 0) this.#users.delete(ofUser);
    return false;
  }

  /**
   * Takes a place, or renews the one that the viewer has. A viewer that has to make room is forgotten. A network that has its share gets no
   * more places, but a viewer of it that has probably left makes room for the next one.
   */
  #enter(places: FairSlots<string>, key: string, address: string): boolean {
    const admission = places.enter(key, address);
    if (admission.admitted) {
      if (admission.evicted !== undefined) this.#forget(admission.evicted);
      return true;
    }
    const oldest = places.oldestOfHost(address);
    const viewing = oldest === undefined ? undefined : this.#here.get(oldest);
    if (viewing === undefined || this.#clock.monotonic() - viewing.seenAt < PROBABLY_LEFT_MS) return false;
    this.#forget(oldest!);
    return places.enter(key, address).admitted;
  }

  #placesOf(user: UserId, atMost: number): FairSlots<string> {
    const known = this.#users.get(user);
    if (known !== undefined && known.atMost === atMost) return known.places;
    // When the quota changes, viewers go on watching, and each takes a place again with its next request.
    const places = new FairSlots<string>(atMost === 0 ? Number.POSITIVE_INFINITY : atMost);
    this.#users.set(user, { atMost, places });
    return places;
  }

  #forgetIdle(): void {
    const since = this.#clock.monotonic() - IDLE_MS;
    for (const [key, { seenAt }] of this.#here) {
      if (seenAt > since) break;
      this.#forget(key);
    }
    for (const [key, { playbackId, seenAt }] of this.#elsewhere) {
      if (seenAt > since) break;
      this.#forgetElsewhere(key, playbackId);
    }
  }

  #forget(key: string): void {
    const viewing = this.#here.get(key);
    if (viewing === undefined) return;
    const { playbackId, ofUser } = viewing;
    this.#watches(viewing, undefined);
    this.#here.delete(key);
    this.#places.leave(key);
    const user = this.#users.get(ofUser);
    user?.places.leave(key);
    if (user?.places.size === 0) this.#users.delete(ofUser);
    const unreported = this.#unreported.get(playbackId);
    unreported?.delete(viewing);
    if (unreported?.size === 0) this.#unreported.delete(playbackId);
    if (!this.#elsewhere.has(key)) this.#change(playbackId, -1);
  }

  #forgetElsewhere(key: string, playbackId: PlaybackId): void {
    this.#elsewhere.delete(key);
    if (!this.#here.has(key)) this.#change(playbackId, -1);
  }

  #toReport(viewing: Viewing): void {
    const { playbackId } = viewing;
    const unreported = this.#unreported.get(playbackId);
    if (unreported === undefined) this.#unreported.set(playbackId, new Set([viewing]));
    else unreported.add(viewing);
  }

  /** Moves a viewer to another rendition, or to none. */
  #watches(viewing: Viewing, rendition: string | undefined): void {
    const { playbackId, rendition: before } = viewing;
    if (before === rendition) return;
    viewing.rendition = rendition;
    const counts = this.#ofRenditions.get(playbackId) ?? new Map<string, number>();
    if (before !== undefined) {
      const left = counts.get(before)! - 1;
      if (left > 0) counts.set(before, left);
      else counts.delete(before);
    }
    if (rendition !== undefined) counts.set(rendition, (counts.get(rendition) ?? 0) + 1);
    if (counts.size > 0) this.#ofRenditions.set(playbackId, counts);
    else this.#ofRenditions.delete(playbackId);
  }

  #change(playbackId: PlaybackId, by: 1 | -1): void {
    const count = (this.#counts.get(playbackId) ?? 0) + by;
    if (count > 0) this.#counts.set(playbackId, count);
    else this.#counts.delete(playbackId);
  }
}
