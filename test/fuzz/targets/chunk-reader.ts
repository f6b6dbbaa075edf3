/**
 * The reader of RTMP chunks: bytes in slices must give the same messages as the whole.
 */
import assert from 'node:assert/strict';
import { ChunkReader } from '#media/rtmp/chunk-reader.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import { OBS_MESSAGES } from '../recorded.ts';
import { slices } from '../slices.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

const LIMITS = { messageBytes: 64 * 1024, incompleteBytes: 128 * 1024, chunkStreams: 32 };

/** What was read from a connection's bytes. */
interface Outcome {
  readonly messages: number;
  readonly bytes: number;
  /** Tells different sequences of messages apart. */
  readonly hash: number;
  readonly error: string;
}

/** The first byte of an input says how long the slices are. */
export const chunkReaderTarget: Target = {
  name: 'chunk-reader',
  corpus: [
    Buffer.concat([Buffer.of(0), ...OBS_MESSAGES.slice(0, 8)]),
    Buffer.concat([Buffer.of(7), ...OBS_MESSAGES.slice(0, 5)]),
    // Format 0 with an extended timestamp, then format 3; Abort; a chunk stream of three bytes.
    Buffer.from(`${'0004ffffff000081080100000001000000'.padEnd(290, 'a5')}c401000000a5`, 'hex'),
    Buffer.from('00040000000000800801000000a5a50200000000000402000000000000000004', 'hex'),
    Buffer.from('0001ff7f0000000000030900000000a5a5a581ff7f00000a000003b5b5b5', 'hex'),
  ],
  dictionary: [
    Uint8Array.of(2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0x80),
    Uint8Array.of(2, 0, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0, 0, 0, 0, 4),
    Uint8Array.of(0xff, 0xff, 0xff),
    Uint8Array.of(0xc4),
    Uint8Array.of(0x44, 0, 0, 1, 0, 0, 2, 9),
  ],
  expected: [RtmpError],
  open: () => ({
    read(input) {
      const whole = outcomeOf([input.subarray(1)]);
      if (input[0] !== 0)
        assert.deepEqual(outcomeOf(slices(input)), whole, 'slices give other messages than the whole');
      return behaviour(magnitude(whole.messages), magnitude(whole.bytes), whole.error.length);
    },
  }),
};

function outcomeOf(parts: readonly Buffer[]): Outcome {
  const reader = new ChunkReader(LIMITS);
  let messages = 0;
  let bytes = 0;
  let hash = 0;
  let error = '';
  let fed = 0;
  try {
    for (const part of parts) {
      reader.feed(part);
      fed += part.length;
      for (let message = reader.next(); message !== undefined; message = reader.next()) {
        const { type, streamId, timestamp, chunkStreamId, payload } = message;
        must(payload.length <= LIMITS.messageBytes, () => `a message of ${payload.length} bytes`);
        messages += 1;
        bytes += payload.length;
        hash = behaviour(
          hash,
          type,
          streamId,
          timestamp,
          chunkStreamId,
          payload.length,
          payload[0] ?? -1,
          payload.at(-1) ?? -1,
        );
      }
    }
  } catch (thrown) {
    if (!(thrown instanceof RtmpError)) throw thrown;
    error = thrown.message;
  }
  must(messages + bytes <= fed, () => `${messages} messages of ${bytes} bytes in all, out of ${fed} bytes`);
  return { messages, bytes, hash, error };
}
