/**
 * Presents a stream to its owner. Only the fields named in this file are shown.
 */
import type { Static } from 'typebox';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { RouteContext } from './api.ts';
import type { Caller } from './authenticate.ts';
import { presentHealth } from './present-health.ts';
import type { PlaybackPolicySchema } from './schemas/playback-policy.ts';
import type { StreamSchema } from './schemas/stream.ts';
import { mayUseStreamKey, newStreamKeyOf, type StreamKeyField, streamKeyFor } from './stream-key.ts';

/** An object whose optional fields may also be present and undefined, until it is written as JSON. */
type OrUndefined<Fields> = { [Name in keyof Fields]: Fields[Name] | undefined };

const NO_TARGETS = { targets: [] };
/** Presents a stream to a caller. The stream key is included only if the caller may use it. */
export function presentStream(stream: Stream, caller: Caller, live: LiveDirectory): Static<typeof StreamSchema> {
  return present(stream, streamKeyFor(caller, stream), live);
}

/** The remembered JSON of streams, with and without their stream keys. */
const TEXTS = { withKey: new WeakMap<Stream, string>(), withoutKey: new WeakMap<Stream, string>() } as const;

/**
 * The JSON of {@link presentStream}. While no session of the stream runs on this node, the JSON depends only on the record. The store gives the
 * same record to all requests until something is committed, so the JSON is written once for all of them.
 */
export function streamJson(stream: Stream, caller: Caller, live: LiveDirectory): string {
  const write = () => JSON.stringify(presentStream(stream, caller, live));
  if (live.status(stream.id) !== undefined) return write();
  const texts = mayUseStreamKey(caller, stream) ? TEXTS.withKey : TEXTS.withoutKey;
  const known = texts.get(stream);
  if (known !== undefined) return known;
  const text = write();
  texts.set(stream, text);
  return text;
}

/** Presents a stream with its stream key to the caller that has just created the stream or the key. */
export function presentWithNewKey(stream: Stream, live: LiveDirectory): Static<typeof StreamSchema> {
  return present(stream, newStreamKeyOf(stream), live);
}

/** Presents a stream to receivers of events, without its stream key. */
export function presentStreamOfEvent(stream: Stream, live: LiveDirectory): Static<typeof StreamSchema> {
  return present(stream, {}, live);
}

/**
 * Presents a stream. The state of a session that runs on this node is taken from memory, because it is newer than the store. Everything else
 * comes from the store.
 */
function present(stream: Stream, key: StreamKeyField, live: LiveDirectory): Static<typeof StreamSchema> {
  const status = live.status(stream.id);
  const { creatorId, playbackPolicy } = stream;
  const { isHealthy, issues, ingestRate, outgoingRate, health } = presentHealth(status, stream);
  // JSON leaves out what is undefined. Nothing is spread, because V8 calls its runtime for each spread field, which is slow.
  const fields: OrUndefined<Static<typeof StreamSchema>> = {
    id: stream.id,
    kind: 'stream',
    name: stream.name,
    userId: stream.userId,
    createdAt: stream.createdAt,
    streamKey: key.streamKey,
    playbackId: stream.playbackId,
    createdByTokenName: stream.createdByTokenName,
    creatorId: creatorId === undefined ? undefined : { type: 'unverified', value: creatorId },
    userTags: stream.userTags,
    playbackPolicy: playbackPolicy as Static<typeof PlaybackPolicySchema> | undefined,
    profiles: stream.profiles as Stream['profiles'][number][],
    isActive: status?.isActive ?? stream.isActive,
    lastSeen: status ? Math.max(status.lastSeen, stream.lastSeen) : stream.lastSeen,
    lastTerminatedAt: stream.lastTerminatedAt,
    suspended: stream.suspended,
    record: stream.record,
    multistream: NO_TARGETS,
    isHealthy,
    issues,
    ingestRate,
    outgoingRate,
    health,
  };
  return fields as Static<typeof StreamSchema>;
}

/**
 * Presents sessions in the form of streams with a parent, as clients of the reference service expect. A session is shown as suspended while
 * its stream is.
 */
export async function presentChildStreams(
  sessions: readonly Session[],
  { store, live }: Pick<RouteContext, 'store' | 'live'>,
): Promise<Static<typeof StreamSchema>[]> {
  const suspended = await store.streams.suspendedAmong(sessions.map(({ streamId }) => streamId));
  return sessions.map((session) => presentChild(session, suspended.has(session.streamId), live));
}

function presentChild(session: Session, isSuspended: boolean, live: LiveDirectory): Static<typeof StreamSchema> {
  const status = live.sessionStatus(session.id);
  return {
    id: session.id,
    kind: 'stream',
    name: session.name,
    userId: session.userId,
    createdAt: session.createdAt,
    playbackId: session.playbackId,
    createdByTokenName: session.createdByTokenName,
    profiles: session.profiles as Session['profiles'][number][],
    parentId: session.streamId,
    isActive: status?.isActive ?? session.phase === 'live',
    lastSeen: status ? Math.max(status.lastSeen, session.lastSeen) : session.lastSeen,
    suspended: isSuspended,
    record: session.record,
    multistream: NO_TARGETS,
    ...presentHealth(status, session),
  };
}
