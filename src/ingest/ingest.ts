/**
 * The contract of ingest: what a protocol hands on, and whom it asks before it does. `live` implements the gate.
 */
import type { Secret } from '#domain/secret.ts';
import type { Packet } from '#media/packet.ts';
import type { Track, TrackKind } from '#media/track.ts';

/** Somebody who wants to publish. */
export interface PublishRequest {
  readonly streamKey: Secret;
  /** `rtmp`, `rtmps`; shown in logs and metrics. */
  readonly protocol: string;
  /** Where it comes from, for throttling guesses. */
  readonly remoteAddress: string;
  /** What the encoder calls itself (RTMP `flashVer`), at most 256 characters; for logs and health. */
  readonly encoder: string | undefined;
  /**
   * Ends the publisher's connection, after telling it why in its protocol's words. Called at most once, from outside;
   * the protocol then calls {@link Publication.end} as it always does.
   */
  readonly cut: (refusal: Refusal) => void;
}

/** Why a publish is refused or cut. */
export const REFUSAL_CODES = [
  'stream_key_invalid', // unknown or revoked; says no more, so keys cannot be probed
  'stream_key_in_use',
  'stream_suspended',
  'too_many_attempts',
  'too_many_publishers',
  'media_memory_exhausted',
  'quota_exceeded',
  'ingest_bitrate_exceeded',
  'timestamps_unusable',
  'service_unavailable',
  'replaced_by_new_publisher',
  'stream_deleted',
  'stream_key_rotated',
  'terminated',
  'internal_error',
] as const;

/** A refusal: the code for programs, the reason as a sentence that the encoder shows its user. Never holds the key. */
export interface Refusal {
  readonly code: (typeof REFUSAL_CODES)[number];
  readonly reason: string;
}

/** The gate's answer. */
export type PublishDecision =
  | { readonly accepted: true; readonly publication: Publication }
  | { readonly accepted: false; readonly refusal: Refusal };

/** Decides who may publish. */
export interface PublishGate {
  /**
   * Judges a key. Waits for the store, at most until `signal` aborts; a store that is away is a refusal, not an exception.
   */
  publish(request: PublishRequest, options: { signal: AbortSignal }): Promise<PublishDecision>;
}

/** Why a publication ended, as the protocol saw it. */
export type PublicationEnd =
  | 'unpublished' // the publisher said it is done
  | 'connection_lost' // closed, reset, timed out, protocol error: it may come back
  | 'cut'; // by us, through PublishRequest.cut

/** What a publisher says of its media before it sends any (RTMP onMetaData). */
export interface Announcement {
  readonly kinds: ReadonlySet<TrackKind>;
  /** As claimed; undefined when it is not, or not believable. */
  readonly videoBitrateBps: number | undefined;
  readonly audioBitrateBps: number | undefined;
  /** What made the media, often more telling than {@link PublishRequest.encoder}; at most 256 printable characters. */
  readonly encoder: string | undefined;
}

/**
 * Where an accepted publisher's media goes. Calls come in the order the publisher sent them; none may throw because of
 * what a publisher sent, and none blocks.
 */
export interface Publication {
  /**
   * Which tracks the publisher announced (RTMP onMetaData). The session waits a moment for these before it starts.
   * Never called when the publisher announces nothing.
   */
  announce(announcement: Announcement): void;
  /** A track's configuration: before its first packet, and again when it changes. */
  track(track: Track): void;
  /** A packet of a track already given; timestamps in the publisher's clock, 32-bit wraps already undone. */
  packet(packet: Packet): void;
  /** Bytes came in, whether or not they made a packet; tells a silent publisher from a slow one. */
  heard(): void;
  /** The last call. A second one changes nothing. */
  end(reason: PublicationEnd): void;
}

/** Where encoders can connect. */
export interface IngestAddress {
  /** Of the URLs that lead there: `rtmp`, `rtmps`. */
  readonly scheme: string;
  readonly host: string;
  /** The real one, also when port 0 was asked for. */
  readonly port: number;
}

/** A listening ingest protocol. */
export interface IngestServer extends AsyncDisposable {
  /** Where it listens; none when it is turned off. */
  readonly addresses: readonly IngestAddress[];
}
