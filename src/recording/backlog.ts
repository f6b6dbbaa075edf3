/**
 * Holds the packaged media of a session while the writer opens its recording.
 */
import type { Packaged } from '#hls/hls.ts';
import type { RenditionId } from '#media/session-event.ts';
import type { WriterThread } from './writer/writer-thread.ts';

/** A part, or another result of packaging, with its rendition. */
export type WaitingMedia = readonly [RenditionId, Packaged];

/** A backlog. Its bytes count as waiting for the disk, in the writer's queue that all recordings share. */
export class Backlog {
  readonly #writer: Pick<WriterThread, 'hasRoomFor' | 'reserve'>;
  #waiting: WaitingMedia[] = [];
  #sizeBytes = 0;

  constructor(writer: Pick<WriterThread, 'hasRoomFor' | 'reserve'>) {
    this.#writer = writer;
  }

  /**
   * Adds packaged media. When the writer has no room for it, everything that waits is dropped first. Parts whose `segment_start` was dropped
   * are left out when the backlog is written.
   * @returns false when media was dropped
   */
  add(id: RenditionId, packaged: Packaged): boolean {
    const sizeBytes = packaged.type === 'part' ? packaged.sizeBytes : 0;
    const hasRoom = this.#writer.hasRoomFor(sizeBytes);
    if (!hasRoom) this.take();
    this.#writer.reserve(sizeBytes);
    this.#sizeBytes += sizeBytes;
    this.#waiting.push([id, packaged]);
    return hasRoom;
  }

  /** Empties the backlog. @returns what waited, in order */
  take(): readonly WaitingMedia[] {
    const waiting = this.#waiting;
    this.#writer.reserve(-this.#sizeBytes);
    this.#waiting = [];
    this.#sizeBytes = 0;
    return waiting;
  }
}
