/**
 * Detects whether the ClientHello, the first message of a TLS handshake, is complete (RFC 8446 §4, §5.1).
 */

/** The content type of records that carry handshake messages. */
const HANDSHAKE = 22;
/** The header of a record: its type, version and length. */
const RECORD_HEADER_BYTES = 5;
/** The header of a handshake message: its type and length. */
const MESSAGE_HEADER_BYTES = 4;

/**
 * Whether OpenSSL can process these bytes: they hold a complete ClientHello, in any number of records, or something else, which OpenSSL
 * refuses. Processing a ClientHello is most of a server's work for a handshake.
 * @param bytes what a client has sent so far
 */
export function isHelloComplete(bytes: Buffer): boolean {
  let message = Buffer.alloc(0);
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE) return true;
    if (at + RECORD_HEADER_BYTES > bytes.length) return false;
    const from = at + RECORD_HEADER_BYTES;
    at = from + bytes.readUInt16BE(at + 3);
    message = Buffer.concat([message, bytes.subarray(from, at)]);
    if (message.length < MESSAGE_HEADER_BYTES) continue;
    if (message.length >= MESSAGE_HEADER_BYTES + message.readUIntBE(1, 3)) return true;
  }
  return false;
}
