/**
 * Which other node has what a viewer asks for.
 */
import type { MediaPath, NodeId, PlaybackId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { originOf } from '#live/node-url.ts';
import type { Store } from '#store/store.ts';

/** What a playback id shows may have moved to another node after so long. */
const PLAYBACK_ID_TTL_MS = 1000;
/** A media path stays where it is; only its node's address may change, with a restart. */
const MEDIA_PATH_TTL_MS = 10_000;
/** Answers remembered of each kind; beyond it the oldest is asked for again. */
const MAX_REMEMBERED = 10_000;
/** What clocks of two machines may differ by. */
const CLOCKS_DIFFER_MS = 10_000;

type Found = Awaited<ReturnType<Store['sessions']['newest']>>;

/** What looking owners up takes. */
export interface OwnersOptions {
  readonly store: Store;
  /** This process. */
  readonly nodeId: NodeId;
  /** How long a session can be watched after its end. */
  readonly keptForMs: number;
  readonly clock: Clock;
}

/** Looks owners up in the store, and remembers them. While the store is away, what was found last is taken as still true. */
export class Owners {
  readonly #options: OwnersOptions;
  readonly #playbackIds: Remembered<PlaybackId>;
  readonly #mediaPaths: Remembered<MediaPath>;

  constructor(options: OwnersOptions) {
    const { store, clock } = options;
    this.#options = options;
    const newest = async (id: PlaybackId) => this.#ownerOf(await store.sessions.newest(id));
    const byPath = async (path: MediaPath) => this.#ownerOf(await store.sessions.byMediaPath(path));
    this.#playbackIds = new Remembered(newest, PLAYBACK_ID_TTL_MS, clock);
    this.#mediaPaths = new Remembered(byPath, MEDIA_PATH_TTL_MS, clock);
  }

  /**
   * The origin of the node that has what the playback id shows, or the session of that path. Undefined when this one has, or none.
   * @throws {MillraceError} `store_unavailable`
   */
  find(playbackId: PlaybackId, mediaPath: MediaPath | undefined): Promise<string | undefined> {
    return mediaPath === undefined ? this.#playbackIds.get(playbackId) : this.#mediaPaths.get(mediaPath);
  }

  /** That node did not answer: look where it is the next time. */
  forget(playbackId: PlaybackId, mediaPath: MediaPath | undefined): void {
    this.#playbackIds.expire(playbackId);
    if (mediaPath !== undefined) this.#mediaPaths.expire(mediaPath);
  }

  #ownerOf(found: Found): string | undefined {
    const { nodeId, clock, keptForMs } = this.#options;
    if (found?.node === undefined || found.node.id === nodeId) return undefined;
    const { endedAt, endReason } = found.session;
    const isGone = endReason === 'node_lost' || endReason === 'suspended' || endReason === 'deleted';
    if (isGone || clock.now() - (endedAt ?? Number.POSITIVE_INFINITY) > keptForMs + CLOCKS_DIFFER_MS) return undefined;
    return originOf(found.node.url);
  }
}

/** Answers by key, each asked for once at a time and again when it is older than a while. */
class Remembered<Key> {
  readonly #ask: (key: Key) => Promise<string | undefined>;
  readonly #ttlMs: number;
  readonly #clock: Clock;
  /** The longest ago first. */
  readonly #answers = new Map<Key, { readonly answer: Promise<string | undefined>; readonly askedAt: number }>();

  constructor(ask: (key: Key) => Promise<string | undefined>, ttlMs: number, clock: Clock) {
    this.#ask = ask;
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  get(key: Key): Promise<string | undefined> {
    const now = this.#clock.monotonic();
    const known = this.#answers.get(key);
    if (known !== undefined && now - known.askedAt < this.#ttlMs) return known.answer;
    const answer = this.#ask(key).catch((error: unknown) => {
      if (known !== undefined) return known.answer;
      this.#answers.delete(key);
      throw error;
    });
    this.#answers.delete(key);
    this.#answers.set(key, { answer, askedAt: now });
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= MAX_REMEMBERED) break;
      this.#answers.delete(oldest);
    }
    return answer;
  }

  expire(key: Key): void {
    const known = this.#answers.get(key);
    if (known !== undefined) this.#answers.set(key, { ...known, askedAt: Number.NEGATIVE_INFINITY });
  }
}
