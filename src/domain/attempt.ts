/**
 * The catalogue of failed attempts to publish: what an encoder tried, in the words of the person who set it up.
 *
 * Encoders do not show why a server refuses them, so these sentences are the only explanation that their users get. A sentence never
 * contains the key that was tried.
 */

/** Why an attempt was refused, with what to do. Part of the interface: add, never rename. */
export const REFUSED_ATTEMPTS = {
  key_unknown: 'the stream key is not the key of any stream; copy it again from the stream',
  key_replaced: 'the encoder uses a former key of this stream, which was replaced; copy the new one into the encoder',
  key_is_playback_id:
    'the encoder sends the playback id of this stream, which is for viewers; copy the stream key into the encoder',
  key_is_stream_id: 'the encoder sends the id of this stream; copy the stream key into the encoder',
  key_is_api_key:
    'the encoder sends an API key, which is for programs and should be revoked now; copy a stream key into the encoder',
  key_not_alone:
    'the stream key is right, but something stands before or after it, such as a blank, a quote, a slash or an address; enter the key alone',
  address_invalid:
    'the stream key is right, but the address is not; the server address must end in /live, and the stream key is a field of its own',
  media_unplayable: 'the encoder sends a codec that Millrace does not support; set it to H.264 and AAC',
  already_live: 'another encoder is already publishing to this stream; stop it first',
  stream_suspended: 'this stream is suspended; resume it first',
  user_suspended: 'the user of this stream is suspended; an admin can resume it',
  stream_deleted: 'the stream with this key was deleted; create another and use its stream key',
  quota_exceeded: 'the user of this stream has reached a quota; stop another stream, or ask an admin for more',
  server_full: 'the server has no room for another publisher at the moment; try again later',
  too_many_attempts: 'too many wrong stream keys came from this address; wait a few minutes, then try the right one',
} as const satisfies Record<string, string>;

/** A reason of {@link REFUSED_ATTEMPTS}. */
export type RefusedAttempt = keyof typeof REFUSED_ATTEMPTS;

/** Why a publisher that had been accepted was disconnected, with what to do. Part of the interface: add, never rename. */
export const DISCONNECTED_ATTEMPTS = {
  no_media:
    'the encoder connected with the right key and left before it sent any media; check its video and audio sources',
  connection_lost: 'the connection to the encoder was lost; check the network of the encoder',
  server_stopping: 'the server was stopped; encoders connect again by themselves',
  terminated: 'the stream was ended by its owner; the encoder may start again',
  stream_suspended: 'the stream was suspended; resume it first',
  stream_deleted: 'the stream was deleted; create another and use its stream key',
  stream_key_rotated: 'the stream key was replaced; copy the new one into the encoder',
  replaced_by_new_publisher: 'another encoder has taken over this stream',
  media_memory_exhausted: 'there was no media memory left; lower the bitrate, or stop another stream',
  ingest_bitrate_exceeded: 'the bitrate was higher than the quota of the user; lower it in the encoder',
  timestamps_unusable: 'the timestamps of the encoder jumped again and again; restart the encoder',
  internal_error: 'something failed on the server; the encoder may connect again',
} as const satisfies Record<string, string>;

/** A reason of {@link DISCONNECTED_ATTEMPTS}. */
export type DisconnectedAttempt = keyof typeof DISCONNECTED_ATTEMPTS;

/** Who tried, and how. */
export interface AttemptSource {
  /** `rtmp`, `rtmps`. */
  readonly protocol: string;
  /** The address of the encoder. */
  readonly address: string;
  /** The name that the encoder gives itself. */
  readonly encoder: string | undefined;
}
