/**
 * Violations of the protocol by a peer. Each is the peer's fault, and ends its connection and nothing else.
 */

/** The kinds of violations, as logs show them. */
export const RTMP_FAULTS = [
  'amf_invalid',
  'chunk_invalid',
  'chunk_size_out_of_bounds',
  'command_invalid',
  'flood',
  'handshake_invalid',
  'message_invalid',
  'message_too_large',
  'too_many_chunk_streams',
] as const;
/** One of {@link RTMP_FAULTS}. */
export type RtmpFault = (typeof RTMP_FAULTS)[number];

/** A peer violated the protocol or exceeded a limit. The message may contain numbers from the peer, but no text, which could be a key. */
export class RtmpError extends Error {
  readonly code: RtmpFault;

  constructor(code: RtmpFault, message: string) {
    super(message);
    this.name = 'RtmpError';
    this.code = code;
  }
}
