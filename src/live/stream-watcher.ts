/**
 * Applies changes of a stream to what runs in this process: its publisher is disconnected, its playback ends, its session is renamed.
 */
import { MillraceError } from '#domain/errors.ts';
import type { NodeId, StreamId, UserId } from '#domain/ids.ts';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { Stream } from '#domain/stream.ts';
import type { StoreAnnouncement } from '#store/announcement.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { PublisherClaims } from './publisher-claims.ts';
import type { SessionRegistry } from './session-registry.ts';

/** How often all streams are read, because announcements may be lost, and the command line beside a server on SQLite announces nothing. */
const LOOK_EVERY_MS = 5000;
/** The time after a failure until the store is asked again. */
const RETRY_MS = 1000;
/** The number of streams, or of users, that are read together. */
const BATCH = 500;

/** The options of a watcher. */
export interface StreamWatcherOptions {
  readonly store: Store;
  readonly registry: SessionRegistry;
  /** The quotas of users who have none of their own. */
  readonly quotas: Quotas;
  readonly nodeId: NodeId;
  /** Undefined when this is the only process. */
  readonly claims: PublisherClaims | undefined;
  readonly logger: Logger;
}

/** Watches every stream that runs in this process, until disposed. */
export class StreamWatcher implements Disposable {
  readonly #options: StreamWatcherOptions;
  readonly #listening: Disposable;
  readonly #timer: NodeJS.Timeout;
  /** The streams, and the users, that are due to be read. Only streams that run in this process are added. */
  readonly #streams = new Set<StreamId>();
  readonly #users = new Set<UserId>();
  /** The streams whose publisher was accepted after the query under way began. Its rows may be older than those that the gate read. */
  readonly #accepted = new Set<StreamId>();
  #looking = false;
  #retry: NodeJS.Timeout | undefined;
  #isDisposed = false;

  constructor(options: StreamWatcherOptions) {
    this.#options = options;
    this.#listening = options.store.listen((announcement) => this.#heard(announcement));
    this.#timer = setInterval(() => this.#lookAtAll(), LOOK_EVERY_MS);
    this.#timer.unref();
    this.#lookAtAll(); // the streams of resumed sessions may have been suspended in the meantime
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    this.#isDisposed = true;
    this.#listening[Symbol.dispose]();
  }

  /**
   * Reads the stream and the user of an accepted publisher again. A change after the gate had read them was announced before anything of
   * the stream ran in this process.
   */
  accepted({ id, userId }: Stream): void {
    this.#streams.add(id);
    this.#users.add(userId);
    this.#accepted.add(id);
    void this.#look();
  }

  #heard(announcement: StoreAnnouncement): void {
    const { registry, nodeId } = this.#options;
    switch (announcement.type) {
      case 'stream_changed':
        if (!registry.streams.has(announcement.streamId)) return;
        this.#streams.add(announcement.streamId);
        break;
      case 'stream_published':
        if (announcement.nodeId !== nodeId) this.#publishedElsewhere(announcement.streamId);
        return;
      case 'user_changed':
        this.#users.add(announcement.userId);
        break;
      case 'missed':
        this.#lookAtAll();
        return;
    }
    void this.#look();
  }

  /** Handles a publisher on another node. A session that waits for its publisher ends, and the claim of one with a publisher is checked. */
  #publishedElsewhere(streamId: StreamId): void {
    const { registry, claims } = this.#options;
    if (registry.publishers.has(streamId)) void claims?.confirm(streamId);
    else registry.disconnect(streamId, 'replaced');
  }

  #lookAtAll(): void {
    for (const [streamId, userId] of this.#options.registry.streams) {
      this.#streams.add(streamId);
      this.#users.add(userId);
    }
    void this.#look();
  }

  /**
   * Reads the streams and users that are due, one query at a time, and then those that became due in the meantime. After a failure, all are
   * read again.
   */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      while (this.#streams.size > 0 || this.#users.size > 0) {
        await this.#lookAtStreams(take(this.#streams, BATCH));
        await this.#lookAtUsers(take(this.#users, BATCH));
      }
    } catch (error) {
      this.#streams.clear();
      this.#users.clear();
      clearTimeout(this.#retry);
      if (!this.#isDisposed) this.#retry = setTimeout(() => this.#lookAtAll(), RETRY_MS).unref();
      if (error instanceof MillraceError)
        this.#options.logger.debug({ err: error }, 'streams could not be read; they are read again');
      else this.#options.logger.error({ err: error }, 'reading streams failed');
    } finally {
      this.#looking = false;
    }
  }

  async #lookAtStreams(ids: readonly StreamId[]): Promise<void> {
    if (ids.length === 0) return;
    const { store, registry, nodeId, claims } = this.#options;
    this.#accepted.clear();
    const found = new Map((await store.streams.getMany(ids)).map((stream) => [stream.id, stream]));
    const owners = claims && (await store.publishers.ownersOf(ids));
    for (const id of ids) {
      if (this.#accepted.has(id)) continue; // it is read again next
      const owner = owners?.get(id);
      if (owner !== undefined && owner !== nodeId) this.#publishedElsewhere(id);
      const stream = found.get(id);
      if (stream === undefined) registry.disconnect(id, 'deleted');
      else if (stream.suspended) registry.disconnect(id, 'suspended');
      else registry.follow(stream);
    }
  }

  async #lookAtUsers(ids: readonly UserId[]): Promise<void> {
    const { store, registry, quotas } = this.#options;
    const owned = Map.groupBy(registry.streams, ([, userId]) => userId);
    const present = ids.filter((id) => owned.has(id));
    if (present.length === 0) return;
    this.#accepted.clear();
    for (const user of await store.users.getMany(present)) {
      registry.setQuotas(user.id, quotasOf(user, quotas));
      if (!user.suspended) continue;
      for (const [streamId] of owned.get(user.id) ?? []) {
        if (!this.#accepted.has(streamId)) registry.disconnect(streamId, 'suspended');
      }
    }
  }
}

function take<Value>(set: Set<Value>, limit: number): readonly Value[] {
  const taken = [...set].slice(0, limit);
  for (const value of taken) set.delete(value);
  return taken;
}
