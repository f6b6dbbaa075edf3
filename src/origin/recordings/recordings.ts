/**
 * Finds recordings and clips for viewers: the asset of a path or playback id, who may watch it, and where it can be read.
 */
import type { Asset } from '#domain/asset.ts';
import {
  type AssetId,
  isPlaybackId,
  isUuid,
  type MediaPath,
  type NodeId,
  type PlaybackId,
  type UserId,
} from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { Stream } from '#domain/stream.ts';
import type { Clock } from '#lib/clock.ts';
import { originOf } from '#live/node-url.ts';
import { Remembered } from '#origin/remembered.ts';
import type { PlaybackSubject } from '#origin/rights/playback-gate.ts';
import { UnknownNames } from '#origin/unknown-names.ts';
import type { Store } from '#store/store.ts';

/** How long what is known of an asset is used before it is looked up again. */
const KEPT_MS = 1000;
/** How long a user's quota is remembered. An admin's change takes effect after this time. */
const QUOTA_KEPT_MS = 10_000;

/** A recording or clip that a viewer asks for. */
export interface FoundRecording {
  readonly asset: Asset;
  /** The recording that it shows: itself, or that of a clip. */
  readonly recording: Asset;
  readonly subject: PlaybackSubject;
  /** The playback id of its stream. */
  readonly streamPlaybackId: PlaybackId;
  /** The URL of the node whose disk has it. Undefined when this node can read it, if anyone can. */
  readonly origin: string | undefined;
}

/** The options of {@link Recordings}. */
export interface RecordingsOptions {
  readonly store: {
    readonly assets: Pick<Store['assets'], 'byPath' | 'byPlaybackId' | 'getMany'>;
    readonly streams: Pick<Store['streams'], 'getMany'>;
    readonly sessions: Pick<Store['sessions'], 'newest'>;
    readonly users: Pick<Store['users'], 'get'>;
  };
  /** The id of this node. */
  readonly nodeId: NodeId;
  /** The quotas of users for whom an admin has set none. */
  readonly quotas: Quotas;
  readonly clock: Clock;
}

type Located = { readonly asset: Asset; readonly node: ServiceNode | undefined };

/**
 * Looks recordings up in the store, and remembers them for a second. While the store is down, the last answer is used. Names that the store
 * does not know are limited; see {@link UnknownNames}.
 */
export class Recordings {
  readonly #options: RecordingsOptions;
  readonly #paths: Remembered<MediaPath, FoundRecording | undefined>;
  readonly #ids: Remembered<string, MediaPath | undefined>;
  readonly #viewersAtMost: Remembered<UserId, number>;
  readonly #unknownPaths: UnknownNames<FoundRecording | undefined>;
  readonly #unknownIds: UnknownNames<MediaPath | undefined>;

  constructor(options: RecordingsOptions) {
    const { clock } = options;
    this.#options = options;
    const keptForMs = () => KEPT_MS;
    this.#paths = new Remembered({ ask: (path) => this.#byPath(path), keptForMs, clock });
    this.#ids = new Remembered({ ask: (id) => this.#pathOf(id), keptForMs, clock });
    this.#viewersAtMost = new Remembered({
      ask: (id) => this.#findViewersAtMost(id),
      keptForMs: () => QUOTA_KEPT_MS,
      clock,
    });
    this.#unknownPaths = new UnknownNames({ keptForMs: KEPT_MS, clock });
    this.#unknownIds = new UnknownNames({ keptForMs: KEPT_MS, clock });
  }

  /**
   * The asset with a path. Undefined when there is none, or it is deleted.
   * @param address the address of the viewer
   * @throws {MillraceError} `store_unavailable`; `too_many_viewers` when too many unknown paths are requested
   */
  async find(path: MediaPath, address: string): Promise<FoundRecording | undefined> {
    return await look(this.#paths, this.#unknownPaths, path, address, () => this.#byPath(path));
  }

  /**
   * The asset that a playback id leads to: that of an asset's own id, otherwise the recording of the stream's newest session. The id of a
   * session leads to its recording.
   * @throws {MillraceError} as {@link find}
   */
  async findByPlaybackId(id: string, address: string): Promise<FoundRecording | undefined> {
    if (!isPlaybackId(id) && !isUuid(id)) return undefined;
    const path = await look(this.#ids, this.#unknownIds, id, address, () => this.#pathOf(id));
    return path && (await this.find(path, address));
  }

  /** The largest number of viewers of a user. @throws {MillraceError} `store_unavailable` */
  viewersAtMost(userId: UserId): Promise<number> {
    return this.#viewersAtMost.get(userId);
  }

  async #byPath(path: MediaPath): Promise<FoundRecording | undefined> {
    const located = await this.#options.store.assets.byPath(path);
    return located && (await this.#describe(located));
  }

  async #describe({ asset, node }: Located): Promise<FoundRecording | undefined> {
    const { store, nodeId } = this.#options;
    const [[stream], [recording = asset]] = await Promise.all([
      // A deleted stream still says who may watch its recordings.
      store.streams.getMany([asset.streamId], 'all'),
      asset.kind === 'clip' ? store.assets.getMany([asset.sessionId as string as AssetId], 'all') : [asset],
    ]);
    // Suspending a stream keeps viewers from everything that it has shown.
    if (stream === undefined || stream.suspended) return undefined;
    const isElsewhere = node !== undefined && node.id !== nodeId && !recording.isStored;
    return {
      asset,
      recording,
      subject: subjectOf(asset, stream),
      streamPlaybackId: stream.playbackId,
      origin: isElsewhere ? originOf(node.url) : undefined,
    };
  }

  async #pathOf(id: string): Promise<MediaPath | undefined> {
    const { assets, sessions } = this.#options.store;
    if (!isPlaybackId(id)) return (await assets.getMany([id as AssetId]))[0]?.path;
    return (await assets.byPlaybackId(id))?.path ?? (await sessions.newest(id))?.session.recordingPath;
  }

  async #findViewersAtMost(userId: UserId): Promise<number> {
    const { store, quotas } = this.#options;
    const user = await store.users.get(userId);
    return user === undefined ? quotas.viewers : quotasOf(user, quotas).viewers;
  }
}

/** Answers from memory for a name that was found before. Any other name is unknown until the store has it. */
async function look<Name extends string, Answer>(
  remembered: Remembered<Name, Answer | undefined>,
  unknown: UnknownNames<Answer | undefined>,
  name: Name,
  address: string,
  find: () => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  if (remembered.has(name)) return await remembered.get(name);
  return await unknown.look(name, address, async () => {
    const answer = await find();
    if (answer === undefined) return undefined;
    remembered.set(name, answer);
    return { answer };
  });
}

/**
 * What decides who may watch an asset: its own policy, otherwise that of its stream. Tokens may be for either playback id, because a viewer
 * of the stream may seek back.
 */
function subjectOf(asset: Asset, stream: Stream): PlaybackSubject {
  const { playbackId, playbackPolicy = stream.playbackPolicy } = asset;
  return {
    stream: { id: stream.id, userId: asset.userId, playbackPolicy },
    playbackId,
    tokensFor: [playbackId, stream.playbackId],
    callsFor: asset.playbackPolicy === undefined ? stream.playbackId : playbackId,
  };
}
