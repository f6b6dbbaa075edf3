/**
 * The announcements by which processes that share a store notify each other of changes, so that the process that has the publisher learns
 * of them.
 */
import type { NodeId, StreamId, UserId } from '#domain/ids.ts';

/** Names what changed. The new state is read from the record. */
export type StoreAnnouncement =
  | { readonly type: 'stream_changed'; readonly streamId: StreamId }
  | { readonly type: 'stream_published'; readonly streamId: StreamId; readonly nodeId: NodeId }
  | { readonly type: 'user_changed'; readonly userId: UserId }
  /** An encoder was refused by a node. `attempt` is JSON text that other nodes read. */
  | { readonly type: 'publish_refused'; readonly nodeId: NodeId; readonly attempt: string }
  /** The test picture of a stream must stop, wherever it is published. */
  | { readonly type: 'test_picture_stopped'; readonly streamId: StreamId }
  /** There are new events to read, or deliveries that are due. */
  | { readonly type: 'events_added' }
  /** Announcements may have been missed, so everything must be read again. Never sent. */
  | { readonly type: 'missed' };

/** Encodes an announcement for engines to carry. */
export const textOfAnnouncement = (announcement: StoreAnnouncement): string => JSON.stringify(announcement);

/** The ids that an announcement of each type must have. */
const IDS: Readonly<Record<StoreAnnouncement['type'], readonly string[]>> = {
  stream_changed: ['streamId'],
  stream_published: ['streamId', 'nodeId'],
  user_changed: ['userId'],
  publish_refused: ['nodeId', 'attempt'],
  test_picture_stopped: ['streamId'],
  events_added: [],
  missed: [],
};

/**
 * Decodes what an engine delivered. Undefined stands for announcements that may have been missed.
 * @returns undefined for a text that no store wrote, because everybody who can connect to a PostgreSQL server may send one
 */
export function announcementOfText(text: string | undefined): StoreAnnouncement | undefined {
  if (text === undefined) return { type: 'missed' };
  const parsed = jsonOf(text);
  if (typeof parsed !== 'object' || parsed === null || !('type' in parsed) || typeof parsed.type !== 'string')
    return undefined;
  if (!Object.hasOwn(IDS, parsed.type)) return undefined;
  const fields = parsed as Readonly<Record<string, unknown>>;
  const isWhole = IDS[parsed.type as StoreAnnouncement['type']].every((id) => typeof fields[id] === 'string');
  return isWhole ? (parsed as StoreAnnouncement) : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
