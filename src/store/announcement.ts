/**
 * What processes on one store tell each other, so that a change reaches the one that has the publisher.
 */
import type { NodeId, StreamId, UserId } from '#domain/ids.ts';

/** Names what changed, never how: whoever it concerns reads the record. */
export type StoreAnnouncement =
  | { readonly type: 'stream_changed'; readonly streamId: StreamId }
  | { readonly type: 'stream_published'; readonly streamId: StreamId; readonly nodeId: NodeId }
  | { readonly type: 'user_changed'; readonly userId: UserId }
  /** There are new events to read, or deliveries that are due. */
  | { readonly type: 'events_added' }
  /** Some may not have been told: look at everything. Never sent. */
  | { readonly type: 'missed' };

/** The text engines carry. */
export const textOfAnnouncement = (announcement: StoreAnnouncement): string => JSON.stringify(announcement);

/** The ids that an announcement of each type must have. */
const IDS: Readonly<Record<StoreAnnouncement['type'], readonly string[]>> = {
  stream_changed: ['streamId'],
  stream_published: ['streamId', 'nodeId'],
  user_changed: ['userId'],
  events_added: [],
  missed: [],
};

/**
 * What an engine told; undefined is what it may have missed.
 * @returns undefined for a text that no store wrote: everybody who reaches a PostgreSQL may send one there
 */
export function announcementOfText(text: string | undefined): StoreAnnouncement | undefined {
  if (text === undefined) return { type: 'missed' };
  const told = jsonOf(text);
  if (typeof told !== 'object' || told === null || !('type' in told) || typeof told.type !== 'string') return undefined;
  if (!Object.hasOwn(IDS, told.type)) return undefined;
  const fields = told as Readonly<Record<string, unknown>>;
  const isWhole = IDS[told.type as StoreAnnouncement['type']].every((id) => typeof fields[id] === 'string');
  return isWhole ? (told as StoreAnnouncement) : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
