/**
 * Finds recordings and clips for viewers: the asset of a path or playback id, who may watch it, and which node can read it.
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
import { originOf } from '#lib/origin-of.ts';
import { Remembered } from '#origin/remembered.ts';
import type { PlaybackSubject } from '#origin/rights/playback-gate.ts';
import { UnknownNames } from '#origin/unknown-names.ts';
import type { Store } from '#store/store.ts';

/** How long an asset is remembered before it is looked up again. */
const KEPT_MS = 1000;
/** How long a user's quota is remembered. An admin's change takes effect after this time. */
const QUOTA_KEPT_MS = 10_000;

/** A recording or clip that a viewer asks for. */
export interface FoundRecording {
  readonly asset: Asset;
  /** The recording whose media it shows: for a recording itself, for a clip the recording that it was cut from. */
  readonly recording: Asset;
  /** For the playback gate: what decides who may watch. */
  readonly subject: PlaybackSubject;
  /** The playback id of its stream. */
  readonly streamPlaybackId: PlaybackId;
  /** The URL of the other node whose disk alone has it. Undefined when this node can read it, or when no node can. */
  readonly origin: string | undefined;
  /** Whether its session has ended at another node, which may be gone. This node then adds nothing to what it can read. */
  readonly isLeft: boolean;
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
 * Looks recordings up in the store, and remembers them for a second. While the store is down, the last answer is used. Lookups of names
 * that the store does not have are limited; see {@link UnknownNames}.
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
   * The asset with a path. Undefined when there is none, when it is deleted, or when its stream or its user is suspended.
   * @param address the address of the viewer
   * @throws {MillraceError} `store_unavailable`; `too_many_viewers` when too many unknown paths are requested
   */
  async find(path: MediaPath, address: string): Promise<FoundRecording | undefined> {
    return await look(this.#paths, this.#unknownPaths, path, address, () => this.#byPath(path, address));
  }

  /**
   * The asset with a playback id. For the playback id of a stream it is the recording of its newest session, and for the id of a session
   * the recording of that session.
   * @param address the address of the viewer
   * @throws {MillraceError} like {@link find}
   */
  async findByPlaybackId(id: string, address: string): Promise<FoundRecording | undefined> {
    if (!isPlaybackId(id) && !isUuid(id)) return undefined;
    const path = await look(this.#ids, this.#unknownIds, id, address, () => this.#pathOf(id, address));
    return path && (await this.find(path, address));
  }

  /** The quota of a user for viewers at the same time. @throws {MillraceError} `store_unavailable` */
  viewersAtMost(userId: UserId): Promise<number> {
    return this.#viewersAtMost.get(userId);
  }

  async #byPath(path: MediaPath, stranger?: string): Promise<FoundRecording | undefined> {
    const located = await this.#options.store.assets.byPath(path, stranger);
    return located && (await this.#describe(located));
  }

  async #describe({ asset, node }: Located): Promise<FoundRecording | undefined> {
    const { store, nodeId } = this.#options;
    const [[stream], user, [recording = asset]] = await Promise.all([
      // A deleted stream still says who may watch its recordings.
      store.streams.getMany([asset.streamId], 'all'),
      store.users.get(asset.userId),
      asset.kind === 'clip' ? store.assets.getMany([asset.sessionId as string as AssetId], 'all') : [asset],
    ]);
    // While a stream or its user is suspended, the recordings cannot be watched either.
    if (stream === undefined || stream.suspended || user?.suspended) return undefined;
    const isElsewhere = node !== undefined && node.id !== nodeId && !recording.isStored;
    return {
      asset,
      recording,
      subject: subjectOf(asset, stream),
      streamPlaybackId: stream.playbackId,
      origin: isElsewhere ? originOf(node.url) : undefined,
      isLeft: recording.nodeId !== nodeId && recording.phase !== 'recording',
    };
  }

  async #pathOf(id: string, stranger?: string): Promise<MediaPath | undefined> {
    const { assets, sessions } = this.#options.store;
    if (!isPlaybackId(id)) return (await assets.byPlaybackId(id as AssetId, stranger))?.path;
    return (
      (await assets.byPlaybackId(id, stranger))?.path ?? (await sessions.newest(id, stranger))?.session.recordingPath
    );
  }

  async #findViewersAtMost(userId: UserId): Promise<number> {
    const { store, quotas } = this.#options;
    const user = await store.users.get(userId);
    return user === undefined ? quotas.viewers : quotasOf(user, quotas).viewers;
  }
}

/** Looks a name up: in memory when it was found before, otherwise in the store, within the limits for unknown names. */
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
 * Who may watch an asset: its own policy decides, otherwise that of its stream. Tokens may be for the playback id of either, because
 * viewers of the stream may seek back.
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
