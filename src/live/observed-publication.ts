/**
 * A publication whose end is reported to the owner of the stream.
 */
import type { DisconnectedAttempt } from '#domain/attempt.ts';
import type { Announcement, Publication, PublicationEnd, PublicationEndCause, Refusal } from '#ingest/ingest.ts';
import type { Packet } from '#media/packet.ts';
import type { Track, TrackId } from '#media/track.ts';

/** How a publication ended. `unplayable`: its media cannot be used. */
export type ObservedEnd =
  | { readonly type: 'unplayable'; readonly message: string | undefined }
  | { readonly type: 'disconnected'; readonly reason: DisconnectedAttempt; readonly cause: string | undefined };

/** The reason that the owner is told when the service disconnects a publisher, by the code that the publisher gets. */
const REASONS: Partial<Record<Refusal['code'], DisconnectedAttempt>> = {
  terminated: 'terminated',
  stream_suspended: 'stream_suspended',
  stream_deleted: 'stream_deleted',
  stream_key_rotated: 'stream_key_rotated',
  replaced_by_new_publisher: 'replaced_by_new_publisher',
  media_memory_exhausted: 'media_memory_exhausted',
  ingest_bitrate_exceeded: 'ingest_bitrate_exceeded',
  timestamps_unusable: 'timestamps_unusable',
  service_unavailable: 'server_stopping',
};

/** Passes all calls on to another publication, and reports its end. */
export class ObservedPublication implements Publication {
  readonly #publication: Publication;
  readonly #onEnd: (end: ObservedEnd) => void;
  #hasMedia = false;
  #disconnectedFor: Refusal | undefined;
  #isOver = false;

  /** @param onEnd called at most once, and not when the publisher itself stopped after it had sent media */
  constructor(publication: Publication, onEnd: (end: ObservedEnd) => void) {
    this.#publication = publication;
    this.#onEnd = onEnd;
  }

  /** Notes that the service is disconnecting the publisher. Called before {@link end}. */
  disconnectedFor(refusal: Refusal): void {
    this.#disconnectedFor = refusal;
  }

  announce(announcement: Announcement): void {
    this.#publication.announce(announcement);
  }

  track(track: Track, id: TrackId): void {
    this.#publication.track(track, id);
  }

  packet(packet: Packet, id: TrackId): void {
    this.#hasMedia = true;
    this.#publication.packet(packet, id);
  }

  silentFor(silentMs: number): void {
    this.#publication.silentFor(silentMs);
  }

  end(reason: PublicationEnd, cause?: PublicationEndCause): void {
    this.#publication.end(reason, cause);
    if (this.#isOver) return;
    this.#isOver = true;
    const end = this.#endOf(reason, cause);
    if (end !== undefined) this.#onEnd(end);
  }

  #endOf(reason: PublicationEnd, cause: PublicationEndCause | undefined): ObservedEnd | undefined {
    if (cause?.code === 'unplayable_media') return { type: 'unplayable', message: cause.message };
    const disconnected = (of: DisconnectedAttempt): ObservedEnd => ({
      type: 'disconnected',
      reason: of,
      cause: cause?.code,
    });
    if (this.#disconnectedFor !== undefined) {
      return disconnected(REASONS[this.#disconnectedFor.code] ?? 'internal_error');
    }
    if (cause?.code === 'server_stopping') return disconnected('server_stopping');
    if (!this.#hasMedia) return disconnected('no_media');
    return reason === 'unpublished' ? undefined : disconnected('connection_lost');
  }
}
