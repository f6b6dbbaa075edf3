/**
 * Adds recordings that have no row in the store to a stream.
 */
import type { Asset } from '#domain/asset.ts';
import type { AssetId, MediaPath, NodeId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { newSession } from '#live/new-session.ts';
import type { RecordingExtent } from '#recording/recording.ts';
import type { Store } from '#store/store.ts';
import { operatorReceipt } from './receipt.ts';

/** A recording that has no row in the store. */
export interface FoundFiles {
  readonly path: MediaPath;
  /** The id of its session, which is also the id of its asset. Undefined when it is not known. Then a new id is made. */
  readonly sessionId: AssetId | undefined;
  readonly extent: RecordingExtent;
  /** Whether all of its media is in the bucket. */
  readonly isStored: boolean;
}

/** The store and the node that a recording is added to. */
export interface Adopter {
  readonly store: Store;
  /** The node that has the files which are not in the bucket. */
  readonly nodeId: NodeId;
  readonly now: Milliseconds;
}

/**
 * Adds a recording to a stream, as an ended session. When the store still has the session, the recording is added to it.
 * @returns its asset. Undefined when the session in the store has another recording, or none
 */
export async function adopt(
  { store, nodeId, now }: Adopter,
  stream: Stream,
  { path, sessionId, extent, isStored }: FoundFiles,
): Promise<Asset | undefined> {
  const at = ms(Math.round(extent.fromMs ?? now));
  const endedAt = ms(Math.round(extent.untilMs ?? now));
  const made = newSession(stream, nodeId, at);
  const session: Session = {
    ...made,
    id: sessionId === undefined ? made.id : (sessionId as string as Session['id']),
    phase: 'ended',
    lastSeen: endedAt,
    endedAt,
    endReason: 'unpublished',
    record: true,
    recordingPath: path,
  };
  const id = session.id as string as AssetId;
  const kept = await store.sessions.get(session.id, 'everyone');
  if (kept !== undefined && kept.recordingPath !== path) return undefined;
  await store.sessions.adopt(session, operatorReceipt(now, { action: 'asset.adopted', resourceId: id }));
  await store.assets.finish(id, extent, now);
  if (isStored) await store.assets.stored(id);
  return await store.assets.get(id, 'everyone');
}
