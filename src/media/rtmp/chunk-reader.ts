/**
 * Assembles messages from chunks (Adobe RTMP 1.0 §5.3), in whatever slices the network delivers them.
 *
 * Each payload is copied once, into memory that the caller provides. Nothing else is done per byte.
 */
import { MESSAGE, type Message, readUint32 } from './message.ts';
import { RtmpError } from './rtmp-error.ts';

/** RTMP's default. Smaller chunks would cost more CPU for their headers than for their payload, which an attacker could use (red5#475). */
const MIN_CHUNK_SIZE = 128;
/** RTMP's own limit (§5.4.1). A large one costs nothing, because no chunk is larger than its message. Some peers state 128 MB. */
const MAX_CHUNK_SIZE = 0x7fffffff;

/** The limits on what a peer can make the reader keep. */
export interface ChunkLimits {
  /** Declared length of one message. */
  readonly messageBytes: number;
  /** Declared lengths of all incomplete messages together. */
  readonly incompleteBytes: number;
  readonly chunkStreams: number;
}

/** The state of a chunk stream. Later headers leave out fields that have not changed. */
interface ChunkStream {
  readonly id: number;
  type: number;
  length: number;
  streamId: number;
  timestamp: number;
  delta: number;
  /** The extended timestamp of the last header that had one. */
  extended: number | undefined;
  /** The message in progress. */
  payload: Buffer | undefined;
  filled: number;
}

/** Bytes of a message header of formats 0 to 3 (§5.3.1.2). */
const MESSAGE_HEADER_BYTES = [11, 7, 3, 0] as const;
/** The longest header: basic header, message header and extended timestamp. */
const MAX_HEADER_BYTES = 3 + 11 + 4;
/** The value of the timestamp field when an extended timestamp follows the header. */
const EXTENDED = 0xffffff;
const NOTHING = Buffer.alloc(0);

/**
 * Reads chunks. The caller feeds slices with {@link feed} and takes messages with {@link next} until there is none. Messages that have not
 * been taken stay, so the caller can pause in the middle of a slice.
 *
 * The reader obeys the chunk layer's own messages, Set Chunk Size and Abort, and returns them as well, so that the caller can count them.
 */
export class ChunkReader {
  #limits: ChunkLimits;
  #chunkSize = MIN_CHUNK_SIZE;
  readonly #streams = new Map<number, ChunkStream>();
  #slice: Buffer = NOTHING;
  #at = 0;
  /** The beginning of a header that continues in the next slice. */
  readonly #held = Buffer.alloc(MAX_HEADER_BYTES);
  #heldBytes = 0;
  /** The chunk stream of the chunk that is being read, and how many bytes of the chunk are missing. */
  #current: ChunkStream | undefined;
  #chunkLeft = 0;
  #incompleteBytes = 0;
  readonly #allocate: (sizeBytes: number) => Buffer;

  /** @param allocate returns memory of exactly this size for one payload, with any content */
  constructor(
    limits: ChunkLimits,
    allocate: (sizeBytes: number) => Buffer = (sizeBytes) => Buffer.allocUnsafe(sizeBytes),
  ) {
    this.#limits = limits;
    this.#allocate = allocate;
  }

  /** Changes the limits for messages that begin from now on. */
  setLimits(limits: ChunkLimits): void {
    this.#limits = limits;
  }

  /** Takes the next bytes of the connection. The caller must not change the slice before {@link next} has read all of it. */
  feed(slice: Buffer): void {
    const rest = this.#slice.subarray(this.#at);
    this.#slice = rest.length === 0 ? slice : Buffer.concat([rest, slice]);
    this.#at = 0;
  }

  /**
   * Returns the next complete message. Undefined when more bytes are needed.
   * @throws {RtmpError} when the bytes are not valid chunks or exceed a limit. The reader cannot be used after that
   */
  next(): Message | undefined {
    while (this.#current !== undefined || this.#readHeader()) {
      const stream: ChunkStream = this.#current!;
      if (!this.#readPayload(stream)) return undefined;
      this.#current = undefined;
      const payload = stream.payload!;
      if (stream.filled < payload.length) continue;
      stream.payload = undefined;
      this.#incompleteBytes -= payload.length;
      const message = {
        type: stream.type,
        streamId: stream.streamId,
        timestamp: stream.timestamp,
        chunkStreamId: stream.id,
        payload,
      };
      if (message.type === MESSAGE.setChunkSize) this.#setChunkSize(readUint32(message));
      else if (message.type === MESSAGE.abort) this.#abort(readUint32(message));
      return message;
    }
    return undefined;
  }

  /** Reads a chunk header. Returns false when the slice ends before the header does. */
  #readHeader(): boolean {
    if (this.#heldBytes === 0) {
      const used = this.#parseHeader(this.#slice, this.#at);
      this.#at += used;
      if (used > 0) return true;
    }
    const held = this.#heldBytes;
    const taken = this.#slice.copy(this.#held, held, this.#at);
    const used = this.#parseHeader(this.#held.subarray(0, held + taken), 0);
    if (used === 0) {
      this.#heldBytes += taken;
      this.#at += taken;
      return false;
    }
    this.#heldBytes = 0;
    this.#at += used - held;
    // Bytes after a header of format 3 are held to see whether they repeat the extended timestamp. Here they do not, so they are payload.
    if (used < held) this.#putBack(this.#held.subarray(used, held));
    return true;
  }

  /** Puts back bytes that an earlier slice ended with. */
  #putBack(bytes: Buffer): void {
    this.#slice = Buffer.concat([bytes, this.#slice.subarray(this.#at + bytes.length)]);
    this.#at = 0;
  }

  /** Copies the bytes of the chunk that the slice has. Returns false when some are missing. */
  #readPayload(stream: ChunkStream): boolean {
    const copied = this.#slice.copy(stream.payload!, stream.filled, this.#at, this.#at + this.#chunkLeft);
    stream.filled += copied;
    this.#at += copied;
    this.#chunkLeft -= copied;
    return this.#chunkLeft === 0;
  }

  /**
   * Reads one chunk header. Changes nothing when the header is incomplete.
   * @returns the length of the header in bytes; 0 when more bytes are needed
   */
  #parseHeader(bytes: Buffer, start: number): number {
    if (start >= bytes.length) return 0;
    const format = bytes[start]! >> 6;
    let id = bytes[start]! & 0x3f;
    let at = start + 1;
    if (id < 2) {
      // A chunk stream id above 63 is in the next one or two bytes (§5.3.1.1).
      const idBytes = 1 + id;
      if (at + idBytes > bytes.length) return 0;
      id = 64 + bytes.readUIntLE(at, idBytes);
      at += idBytes;
    }
    const stream = this.#streams.get(id);
    // librtmp opens chunk stream 2 with format 1. Headers of formats 2 and 3 do not state the length of the message.
    if (stream === undefined && format > 1) {
      throw new RtmpError('chunk_invalid', `chunk stream ${id} begins with a header of format ${format}`);
    }
    const end = at + MESSAGE_HEADER_BYTES[format]!;
    if (bytes.length < end) return 0;

    if (format === 3) {
      if (stream!.extended !== undefined) {
        if (bytes.length < end + 4) return 0;
        // By the specification the extended timestamp is repeated here. Some encoders do not repeat it, and continue with the payload.
        if (bytes.readUInt32BE(end) === stream!.extended) at += 4;
      }
      this.#openChunk(stream!, stream!.timestamp + stream!.delta);
      return at - start;
    }

    const field = readUint24(bytes, at);
    const isExtended = field === EXTENDED;
    if (isExtended && bytes.length < end + 4) return 0;
    if (stream?.payload !== undefined) {
      throw new RtmpError('chunk_invalid', `chunk stream ${id} begins a message within another`);
    }
    const value = isExtended ? bytes.readUInt32BE(end) : field;
    const next = stream ?? this.#addStream(id);
    next.extended = isExtended ? value : undefined;
    // A header of format 3 after one of format 0 repeats its timestamp as the delta (§5.3.1.2.4). FFmpeg relies on it. librtmp, and therefore
    // OBS, sends format 3 for a delta of 0, which is the same only if the delta before was 0, too. It does so only for two consecutive
    // messages of the same kind, length and timestamp, as with several audio tracks, which the server does not offer.
    next.delta = value;
    if (format < 2) {
      next.length = readUint24(bytes, at + 3);
      next.type = bytes[at + 6]!;
    }
    if (format === 0) next.streamId = bytes.readUInt32LE(at + 7);
    this.#openChunk(next, format === 0 ? value : next.timestamp + value);
    return (isExtended ? end + 4 : end) - start;
  }

  /** Begins a chunk. @param timestamp of the message, if this chunk is its first */
  #openChunk(stream: ChunkStream, timestamp: number): void {
    if (stream.payload === undefined) {
      const { messageBytes, incompleteBytes } = this.#limits;
      if (stream.length > messageBytes || this.#incompleteBytes + stream.length > incompleteBytes) {
        throw new RtmpError('message_too_large', `a message of ${stream.length} bytes exceeds the limit`);
      }
      this.#incompleteBytes += stream.length;
      stream.timestamp = timestamp >>> 0;
      stream.payload = this.#allocate(stream.length);
      stream.filled = 0;
    }
    this.#current = stream;
    this.#chunkLeft = Math.min(this.#chunkSize, stream.length - stream.filled);
  }

  #addStream(id: number): ChunkStream {
    if (this.#streams.size >= this.#limits.chunkStreams) {
      throw new RtmpError('too_many_chunk_streams', `more than ${this.#limits.chunkStreams} chunk streams`);
    }
    const stream: ChunkStream = {
      id,
      type: 0,
      length: 0,
      streamId: 0,
      timestamp: 0,
      delta: 0,
      extended: undefined,
      payload: undefined,
      filled: 0,
    };
    this.#streams.set(id, stream);
    return stream;
  }

  #setChunkSize(size: number): void {
    if (size < MIN_CHUNK_SIZE || size > MAX_CHUNK_SIZE) {
      throw new RtmpError(
        'chunk_size_out_of_bounds',
        `chunk size ${size} is not from ${MIN_CHUNK_SIZE} to ${MAX_CHUNK_SIZE}`,
      );
    }
    this.#chunkSize = size;
  }

  #abort(id: number): void {
    const stream = this.#streams.get(id);
    if (stream?.payload === undefined) return;
    this.#incompleteBytes -= stream.payload.length;
    stream.payload = undefined;
  }
}

/** Reads 24 bits, without the checks of `readUIntBE`: the caller knows that the bytes are there, and every chunk passes here. */
function readUint24(bytes: Buffer, at: number): number {
  return (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
}
