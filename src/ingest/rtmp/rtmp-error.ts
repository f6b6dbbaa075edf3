/**
 * What a peer can do wrong. Always the publisher's fault, always the end of its connection and of nothing else.
 */

/** The kinds of fault, as logs show them. */
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

/** A peer broke the protocol or a limit. Its message may hold numbers read from the wire, never text: that could be a key. */
export class RtmpError extends Error {
  readonly code: RtmpFault;

  constructor(code: RtmpFault, message: string) {
    super(message);
    this.name = 'RtmpError';
    this.code = code;
  }
}
