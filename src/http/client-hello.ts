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
 *
 * No byte is copied: a client can send thousands of records of five bytes each, and this is called for every piece that arrives.
 * @param bytes what a client has sent so far
 */
export function isHelloComplete(bytes: Buffer): boolean {
  /** How many bytes of the message the records so far contain, and the length of what follows its header, as far as the length is known. */
  let received = 0;
  let length = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE) return true;
    let next = at + RECORD_HEADER_BYTES;
    if (next > bytes.length) return false;
    at = next + bytes.readUInt16BE(at + 3);
    const until = Math.min(at, bytes.length);
    for (; next < until && received < MESSAGE_HEADER_BYTES; next += 1, received += 1) {
      // The first byte is the type of the message.
      if (received > 0) length = length * 256 + bytes[next]!;
    }
    received += until - next;
    if (received >= MESSAGE_HEADER_BYTES + length) return true;
  }
  return false;
}
