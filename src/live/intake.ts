/**
 * One accepted publisher: collects its tracks, and then passes its media to a session.
 */
import type { MemoryAccount } from '#hls/hls.ts';
import type { Announcement, Publication, PublicationEnd } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import type { Packet } from '#media/packet.ts';
import type { Track, TrackId, TrackKind } from '#media/track.ts';
import { IngestAllowance } from './ingest-allowance.ts';

/** How long media waits for tracks that were announced or may still come. */
const TRACK_WAIT_MS = 500;
/** The bytes of media that may be held while tracks are collected. A publisher that sends faster starts with the tracks it has. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

/** The receiver of collected media. */
export interface IntakeTarget {
  /** Sets the description of a track, before its packets and whenever it changes. */
  setTrack(id: TrackId, track: Track): void;
  /** Takes the next packet of a track that was set. */
  write(id: TrackId, packet: Packet): void;
}

/** The owner of an intake. */
export interface IntakeOwner {
  /** Called at the first packet. The stream is active from then on. */
  onMedia(): void;
  /** Called when the tracks are known. Returns the receiver of the media from then on. Called once, and only with at least one track. */
  open(tracks: ReadonlyMap<TrackId, Track>, announcement: Announcement | undefined): IntakeTarget;
  /** The highest bitrate at which the publisher may send, in kbit/s. 0 means no limit. */
  readonly bitrateLimitKbps: number;
  /** Called when the publisher has exceeded its bitrate and must be disconnected. */
  onTooFast(): void;
  /** Opens an account for the media that is held until {@link IntakeOwner.open}. */
  openAccount(): MemoryAccount;
  /** Runs the work of a timer, and keeps its errors from the event loop. */
  guard(work: () => void): void;
  /** Called once, when the publisher is gone. */
  onEnd(reason: PublicationEnd): void;
}

/** A packet that waits for the tracks to be known. */
interface HeldPacket {
  readonly id: TrackId;
  readonly packet: Packet;
}

/** What an intake does with the next packet. */
type State =
  | { readonly type: 'before_media' }
  /** It is held, and charged to the account, until the tracks are known or the timer fires. */
  | {
      readonly type: 'collecting';
      readonly held: HeldPacket[];
      readonly account: MemoryAccount;
      readonly timer: NodeJS.Timeout;
    }
  /** It goes to the session. */
  | { readonly type: 'open'; readonly target: IntakeTarget }
  | { readonly type: 'ended' };

/** Implements {@link Publication} for one publisher. */
export class Intake implements Publication {
  readonly #owner: IntakeOwner;
  readonly #clock: Clock;
  readonly #tracks = new Map<TrackId, Track>();
  #announcement: Announcement | undefined;
  #state: State = { type: 'before_media' };
  #silentMs = 0;
  #bytes = 0;
  readonly #allowance: IngestAllowance;

  constructor(owner: IntakeOwner, clock: Clock) {
    this.#owner = owner;
    this.#clock = clock;
    this.#allowance = new IngestAllowance(clock.monotonic());
  }

  /** Whether media is being received: from the first packet to the end. */
  get isActive(): boolean {
    return this.#state.type === 'collecting' || this.#state.type === 'open';
  }

  /** The number of bytes of media so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** For how many milliseconds nothing at all was received from the publisher, as of the last call of `silentFor`. */
  get silentMs(): number {
    return this.#silentMs;
  }

  silentFor(silentMs: number): void {
    this.#silentMs = silentMs;
  }

  announce(announcement: Announcement): void {
    this.#announcement = announcement;
  }

  track(track: Track, id: TrackId): void {
    if (this.#state.type === 'ended') return;
    this.#tracks.set(id, track);
    if (this.#state.type === 'open') this.#state.target.setTrack(id, track);
  }

  packet(packet: Packet, id: TrackId): void {
    if (this.#state.type === 'ended') return;
    const { byteLength } = packet.data;
    this.#bytes += byteLength;
    const limitKbps = this.#owner.bitrateLimitKbps;
    if (!this.#allowance.use(byteLength, { limitKbps, nowMs: this.#clock.monotonic() })) {
      this.#owner.onTooFast();
      return;
    }
    if (this.#state.type === 'open') this.#state.target.write(id, packet);
    else this.#hold(id, packet);
  }

  end(reason: PublicationEnd): void {
    // A publisher that left before its tracks were known also gets a session, unless the service disconnected it.
    if (this.#state.type === 'collecting' && reason !== 'disconnected') this.#open();
    const before: State = this.#state;
    if (before.type === 'ended') return;
    this.#state = { type: 'ended' };
    if (before.type === 'collecting') stopCollecting(before);
    this.#owner.onEnd(reason);
  }

  #hold(id: TrackId, packet: Packet): void {
    if (this.#state.type === 'before_media') this.#collect();
    const state = this.#state;
    if (state.type !== 'collecting') return;
    const { held, account } = state;
    const hasRoom = account.take(packet.data.byteLength);
    if (hasRoom) held.push({ id, packet });
    if (this.#isComplete() || !hasRoom || account.usedBytes > MAX_HELD_BYTES) this.#open();
  }

  #collect(): void {
    const account = this.#owner.openAccount();
    const timer = setTimeout(() => this.#owner.guard(() => this.#open()), TRACK_WAIT_MS);
    this.#state = { type: 'collecting', held: [], account, timer };
    this.#owner.onMedia();
  }

  /**
   * Whether there is nothing more to wait for: every announced track exists or, without an announcement, one of each kind. An announcement
   * of only audio may be early: GStreamer's flvmux announces the tracks it has, and a frame takes longer to encode than audio.
   */
  #isComplete(): boolean {
    const announced = this.#announcement?.kinds;
    const expected: Iterable<TrackKind> = announced?.has('video') ? announced : ['video', 'audio'];
    const kinds = new Set(Array.from(this.#tracks.values(), ({ kind }) => kind));
    for (const kind of expected) if (!kinds.has(kind)) return false;
    return kinds.size > 0;
  }

  /** Passes the held packets to a session, which is charged for them from then on. */
  #open(): void {
    const state = this.#state;
    if (state.type !== 'collecting' || this.#tracks.size === 0) return;
    const target = this.#owner.open(this.#tracks, this.#announcement);
    if (this.#state !== state) return; // the session ended at once, and this publisher was disconnected
    this.#state = { type: 'open', target };
    stopCollecting(state);
    for (const { id, packet } of state.held) target.write(id, packet);
  }
}

function stopCollecting({ timer, account }: Extract<State, { type: 'collecting' }>): void {
  clearTimeout(timer);
  account[Symbol.dispose]();
}
