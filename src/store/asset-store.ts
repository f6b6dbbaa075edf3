/**
 * The part of the store's contract for recordings and clips.
 */
import type { Asset, AssetExtent, AssetPhase } from '#domain/asset.ts';
import type { AssetId, MediaPath, NodeId, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Page, PageOptions, Scope } from './page.ts';
import type { Receipt } from './receipt.ts';
import type { RowLimit } from './row-quota.ts';

/** The times by which assets can be ordered. */
export const ASSET_ORDERS = ['createdAt', 'updatedAt'] as const;

/** A value of {@link ASSET_ORDERS}. */
export type AssetOrder = (typeof ASSET_ORDERS)[number];

/**
 * Conditions for the listed assets, all of which must hold. One of them is answered from an index: the id, playback id, session, stream or
 * origin, else the creator, else the phase, else the kind.
 */
export interface AssetFilter {
  readonly id?: AssetId;
  readonly playbackId?: PlaybackId;
  /** Part of the name; see `ListFilter.name`. */
  readonly name?: string;
  readonly creatorId?: string;
  readonly phase?: AssetPhase;
  readonly kind?: Asset['kind'];
  /** Only together with `kind`. */
  readonly streamId?: StreamId;
  /** The session of recordings and clips. */
  readonly sessionId?: SessionId;
  /** The playback id that clips were requested from. */
  readonly clippedFrom?: PlaybackId;
  /** Bounds of the time by which the list is ordered, both included. */
  readonly from?: Milliseconds;
  readonly to?: Milliseconds;
}

/** The options of a list of assets. */
export interface AssetListOptions extends PageOptions {
  readonly order: AssetOrder;
  /** With `desc`, the newest come first. */
  readonly direction: 'asc' | 'desc';
  readonly filter: AssetFilter;
}

/** The fields that may change on an asset. Absent keys leave a field as it is, and `undefined` empties it. */
export type AssetChange = Partial<Pick<Asset, 'name' | 'creatorId' | 'playbackPolicy'>>;

/** How long the recordings of a deleted stream are kept. */
export const RECORDINGS_KEPT_MS = 24 * 3600 * 1000;

/**
 * Recordings and clips. A recorded session's asset is created with the session, becomes `storing` with the session's end, and has the
 * session's id. Deleted assets are only found by `getMany` with `all` and by the calls for deleting.
 *
 * Every change of a phase is stored with its event. Reports of what is recorded may be repeated and are ignored for deleted assets.
 */
export interface AssetStore {
  get(id: AssetId, scope: Scope): Promise<Asset | undefined>;
  /** The assets with these ids that exist, in any order. @param of `all` includes deleted assets */
  getMany(ids: readonly AssetId[], of?: 'all'): Promise<readonly Asset[]>;
  /** The asset with this playback id, or with this id for those who know it. It may belong to any user. */
  byPlaybackId(id: PlaybackId | AssetId, stranger?: string): Promise<Asset | undefined>;
  /** The asset with this folder in its URLs, and the node whose disk has what is not in the object store. */
  byPath(
    path: MediaPath,
    stranger?: string,
  ): Promise<{ readonly asset: Asset; readonly node: ServiceNode | undefined } | undefined>;
  list(scope: Scope, options: AssetListOptions): Promise<Page<Asset>>;
  count(scope: Scope, filter: AssetFilter, order: AssetOrder): Promise<number>;
  /** Counts a user's clips up to `atMost`. */
  countOf(user: UserId, atMost: number): Promise<number>;
  /** The bytes of a user's recordings as last reported, and the approximate bytes of deleted recordings that clips keep. */
  bytesOf(user: UserId): Promise<number>;
  /** Seconds of media in the same recordings and clips. */
  secondsOf(user: UserId): Promise<number>;
  /**
   * Creates a clip.
   * @param of the recording or clip that it is cut from
   * @throws {MillraceError} `not_found` when `of` is deleted or failed, `quota_exceeded`
   */
  createClip(clip: Asset, of: AssetId, receipt: Receipt, limit?: RowLimit): Promise<void>;
  /** Changes an asset. Returns whether there is such an asset. */
  change(id: AssetId, scope: Scope, change: AssetChange, receipt: Receipt): Promise<boolean>;
  /**
   * Deletes an asset, which is not found any more. The bytes of a recording are deleted later; see `deleting`.
   * @returns whether there was such an asset
   * @throws {MillraceError} `conflict` for a recording that still runs
   */
  delete(id: AssetId, scope: Scope, receipt: Receipt): Promise<boolean>;
  /** Deletes a recording that has been kept long enough. Returns false when there is no such recording, or it still runs. */
  expire(id: AssetId, at: Milliseconds): Promise<boolean>;

  /** Stores the extent of a recording so far. Its `updatedAt` does not change. Returns false when it is ready, failed or deleted. */
  progress(id: AssetId, extent: AssetExtent): Promise<boolean>;
  /**
   * Makes a recording ready, or failed if it has no media. Returns false when it does not exist, or is ready, failed or deleted.
   * @param at by the clock of this process
   */
  finish(id: AssetId, extent: AssetExtent, at: Milliseconds): Promise<boolean>;
  /** Makes a recording failed. Returns false when it does not exist, or is ready, failed or deleted. @param failure a sentence */
  fail(id: AssetId, failure: string, at: Milliseconds): Promise<boolean>;
  /** Notes that everything of a recording is in the object store. Returns false when it does not exist, or is neither ready nor failed yet. */
  stored(id: AssetId): Promise<boolean>;
  /**
   * The recordings of a node that are neither ready nor failed, oldest first. In a store that is not shared, its process has every
   * recording.
   */
  open(node: NodeId): Promise<readonly Asset[]>;
  /** The clips of a recording that are not deleted, oldest first, also when the recording is deleted. */
  clipsOf(recording: AssetId): Promise<readonly Asset[]>;

  /**
   * Recordings to delete, at most `limit`: those of streams that were deleted {@link RECORDINGS_KEPT_MS} before `now`, and those whose
   * session ended before a time. Running recordings are left out.
   */
  due(options: {
    readonly now: Milliseconds;
    /** Undefined when recordings are kept for ever. */
    readonly endedBefore: Milliseconds | undefined;
    readonly limit: number;
  }): Promise<readonly Asset[]>;
  /** The ended recordings of a node that are not in the object store, the oldest end first. */
  oldest(node: NodeId, limit: number): Promise<readonly Asset[]>;
  /**
   * Deleted recordings whose bytes may still be there, in the order of their ids.
   * @param options.before the time of the deletion. Leave at least a minute, so that every clip that was being created by then is in `clipsOf`
   */
  deleting(options: {
    readonly before: Milliseconds;
    readonly after?: AssetId | undefined;
    readonly limit: number;
  }): Promise<readonly Asset[]>;
  /** Notes that no byte of a deleted recording is left. */
  deleted(id: AssetId): Promise<void>;
  /** Forgets assets that were deleted before a time and have no bytes left, at most `limit` at once. Returns how many. */
  forget(before: Milliseconds, limit: number): Promise<number>;
}
