/**
 * What processes on one store tell each other, so that a change reaches the one that has the publisher.
 */
import type { NodeId, StreamId, UserId } from '#domain/ids.ts';

/** Names what changed, never how: whoever it concerns reads the record. */
export type Announcement =
  | { readonly type: 'stream_changed'; readonly streamId: StreamId }
  | { readonly type: 'stream_published'; readonly streamId: StreamId; readonly nodeId: NodeId }
  | { readonly type: 'user_changed'; readonly userId: UserId }
  /** Some may not have been told: look at everything. Never sent. */
  | { readonly type: 'missed' };

/** The text engines carry. */
export const textOfAnnouncement = (announcement: Announcement): string => JSON.stringify(announcement);

/** What an engine told; undefined is what it may have missed. @throws {SyntaxError} when no store wrote that text */
export const announcementOfText = (text: string | undefined): Announcement =>
  text === undefined ? { type: 'missed' } : (JSON.parse(text) as Announcement);
