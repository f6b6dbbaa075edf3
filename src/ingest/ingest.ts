/**
 * The contract of ingest: a protocol asks the gate whether a publisher is accepted, and then passes its media to a publication. `live`
 * implements both.
 */
import type { Secret } from '#domain/secret.ts';
import type { Packet } from '#media/packet.ts';
import type { Track, TrackId, TrackKind } from '#media/track.ts';

/** A publisher's request to publish. */
export interface PublishRequest {
  readonly streamKey: Secret;
  /** The scheme of the publisher's URL, such as `rtmp` or `rtmps`, as logs and metrics show it. */
  readonly protocol: string;
  /** The publisher's address, by which guesses of stream keys are throttled. */
  readonly remoteAddress: string;
  /** The name that the encoder gives itself (RTMP `flashVer`), for logs and health. At most 256 characters. */
  readonly encoder: string | undefined;
  /**
   * Sends the publisher the reason, as its protocol allows, and disconnects it. `live` calls this at most once for each publish. The
   * protocol then calls {@link Publication.end}, as after every publish.
   */
  readonly disconnect: (refusal: Refusal) => void;
}

/** Why a publish is refused, or a publisher is disconnected. */
export const REFUSAL_CODES = [
  'stream_key_invalid', // unknown or revoked: which of them is not stated, so that keys cannot be probed
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

/** A refusal: a code for programs, and a sentence that the encoder shows to its user. It never contains the stream key. */
export interface Refusal {
  readonly code: (typeof REFUSAL_CODES)[number];
  readonly reason: string;
}

/** The gate's answer. */
export type PublishDecision =
  | { readonly accepted: true; readonly publication: Publication }
  | { readonly accepted: false; readonly refusal: Refusal };

/** The answer to a publisher while stream keys cannot be checked: the gate fails or does not answer in time, or the store is away. */
export const NO_DECISION: PublishDecision = {
  accepted: false,
  refusal: {
    code: 'service_unavailable',
    reason: 'The server cannot check stream keys right now; try again in a moment.',
  },
};

/** A publisher that its protocol refused because of the address to which it published, without asking the gate. */
export interface InvalidAddress extends Pick<PublishRequest, 'protocol' | 'remoteAddress' | 'encoder'> {
  /** Everything that the publisher sent as an address, which may hold a stream key. At most a few hundred characters. */
  readonly text: Secret;
}

/** Decides who may publish. */
export interface PublishGate {
  /**
   * Decides on a publish by its stream key. Waits for the store, at most until `signal` aborts. Refuses, and does not throw, when the store
   * is not available.
   */
  publish(request: PublishRequest, options: { signal: AbortSignal }): Promise<PublishDecision>;
  /** Notes a publisher that was refused for its address. Returns at once. */
  addressInvalid(attempt: InvalidAddress): void;
}

/** Why a publication ended, from the protocol's view. */
export type PublicationEnd =
  | 'unpublished' // the publisher stopped
  | 'connection_lost' // closed, reset, timed out, or a protocol error: the publisher may come back
  | 'disconnected'; // by this service, through PublishRequest.disconnect

/** What a protocol knows about the end of a publication. */
export interface PublicationEndCause {
  /** A code, such as `closed_by_peer`, `ECONNRESET` or `server_stopping`. */
  readonly code: string;
  /** The sentence that the publisher was sent about its media. Only for `unplayable_media`. */
  readonly message?: string | undefined;
}

/** What a publisher announces about its media before it sends any (RTMP onMetaData). */
export interface Announcement {
  readonly kinds: ReadonlySet<TrackKind>;
  /** The bitrates in bits per second. Undefined when they are not announced, or not plausible. */
  readonly videoBitrateBps: number | undefined;
  readonly audioBitrateBps: number | undefined;
  /** The software that made the media, often more precise than {@link PublishRequest.encoder}. At most 256 printable characters. */
  readonly encoder: string | undefined;
}

/**
 * Takes the media of an accepted publisher. Calls come in the order in which the publisher sent the media. No call blocks, or throws
 * because of what a publisher sent.
 */
export interface Publication {
  /**
   * Takes the tracks that the publisher announces. The session waits a moment for these before it starts. Called again when the
   * announcement changes, and never when the publisher announces nothing.
   */
  announce(announcement: Announcement): void;
  /** Takes a track's configuration, before its first packet and again when it changes. @param id identifies the track in the publication */
  track(track: Track, id: TrackId): void;
  /** Takes a packet of a configured track. Its timestamps are in the publisher's clock, with 32-bit wraps already undone. */
  packet(packet: Packet, id: TrackId): void;
  /**
   * Notes for how many milliseconds no bytes arrived, not even a part of a packet, to distinguish a slow publisher from a silent one.
   * Called several times a second, but only after everything that arrived was read. Otherwise a delay of this process would count as a
   * silence of the publisher.
   */
  silentFor(silentMs: number): void;
  /** Ends the publication. This is the last call, and a second one has no effect. */
  end(reason: PublicationEnd, cause?: PublicationEndCause): void;
}

/** An address at which encoders can connect. */
export interface IngestAddress {
  /** The scheme of its URLs: `rtmp` or `rtmps`. */
  readonly scheme: string;
  readonly host: string;
  /** The actual port, also when port 0 was configured. */
  readonly port: number;
}

/** A listening ingest protocol. */
export interface IngestServer extends AsyncDisposable {
  /** The addresses at which it listens. Empty when the protocol is turned off. */
  readonly addresses: readonly IngestAddress[];
}
