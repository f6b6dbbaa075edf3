/**
 * Finds the sessions of this process: by id, by stream, by playback id and by media path.
 */
import type { MediaPath, PlaybackId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { SessionState } from '#domain/session.ts';
import type { LiveSession } from './live-session.ts';

/** The sessions that run in this process, and those that ended and can still be watched. */
export class SessionIndex {
  readonly #sessions = new Map<SessionId, LiveSession>();
  readonly #paths = new Map<MediaPath, LiveSession>();
  /** The newest session of each stream. */
  readonly #streams = new Map<StreamId, LiveSession>();
  /** The newest session under each playback id. */
  readonly #newest = new Map<PlaybackId, LiveSession>();

  /** All sessions. */
  get all(): Iterable<LiveSession> {
    return this.#sessions.values();
  }

  /** The number of sessions. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Adds a session, which is the newest of its stream from now on. */
  add(session: LiveSession): void {
    const { id, mediaPath, streamId, playbackId } = session.record;
    this.#sessions.set(id, session);
    this.#paths.set(mediaPath, session);
    this.#streams.set(streamId, session);
    this.#newest.set(playbackId, session);
  }

  /** Removes a session. A newer one of its stream stays. */
  remove(session: LiveSession): void {
    const { id, mediaPath, streamId, playbackId } = session.record;
    this.#sessions.delete(id);
    this.#paths.delete(mediaPath);
    if (this.#streams.get(streamId) === session) this.#streams.delete(streamId);
    if (this.#newest.get(playbackId) === session) this.#newest.delete(playbackId);
  }

  /** The session with an id. */
  byId(id: SessionId): LiveSession | undefined {
    return this.#sessions.get(id);
  }

  /** The session with a media path. */
  byPath(path: MediaPath): LiveSession | undefined {
    return this.#paths.get(path);
  }

  /** The session of a stream that is running, or that ended last. */
  ofStream(streamId: StreamId): LiveSession | undefined {
    return this.#streams.get(streamId);
  }

  /** The session that a playback id shows: the one that is running, or that ended last. */
  newestOf(playbackId: PlaybackId): LiveSession | undefined {
    return this.#newest.get(playbackId);
  }

  /** Whether any session belongs to this user. */
  hasOfUser(userId: UserId): boolean {
    for (const { record } of this.#sessions.values()) if (record.userId === userId) return true;
    return false;
  }

  /** The number of sessions in this phase. */
  count(phase: SessionState['phase']): number {
    let count = 0;
    for (const { state } of this.#sessions.values()) if (state.phase === phase) count++;
    return count;
  }
}
