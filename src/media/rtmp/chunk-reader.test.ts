import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ChunkReader } from './chunk-reader.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { controlMessage, MESSAGE, type Message } from './message.ts';
import { RtmpError } from './rtmp-error.ts';

const LIMITS = { messageBytes: 100_000, incompleteBytes: 200_000, chunkStreams: 8 };

/** All messages in the slices, except those of the chunk layer itself. */
function readAll(slices: readonly Buffer[], reader = new ChunkReader(LIMITS)): Message[] {
  const messages: Message[] = [];
  for (const slice of slices) {
    reader.feed(slice);
    for (let message = reader.next(); message !== undefined; message = reader.next()) {
      if (message.type !== MESSAGE.setChunkSize && message.type !== MESSAGE.abort) messages.push(message);
    }
  }
  return messages;
}

/** Cuts bytes at the given places, taken modulo their length. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set([0, ...places.map((place) => place % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  );
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

/** Reads the same messages many times: in one slice, and in two slices that are divided at each place. */
function readCutAnywhere(bytes: Buffer): Message[][] {
  return Array.from(bytes.keys(), (place) => readAll(cut(bytes, [place])));
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

const BODY = Buffer.alloc(300, 9);

/** The chunks of a message of 300 bytes: one with the header `first`, and the others with the header `next`. */
function inChunks(first: string, next = 'c4'): Buffer[] {
  return [hex(first), BODY.subarray(0, 128), hex(next), BODY.subarray(128, 256), hex(next), BODY.subarray(256)];
}

const timestamp = fc.oneof(
  fc.nat(100),
  fc.constantFrom(0xfffffe, 0xffffff, 0x1000000, 0xffffffff),
  fc.nat({ max: 0xffffffff }),
);
const message: fc.Arbitrary<Message> = fc.record(
  {
    type: fc.constantFrom<number>(MESSAGE.audio, MESSAGE.video, MESSAGE.data, MESSAGE.command, 99),
    streamId: fc.constantFrom(0, 1, 0xfffffffe),
    timestamp,
    chunkStreamId: fc.constantFrom(2, 3, 63, 64, 319, 320, 65_599),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
      fc.tuple(fc.nat(255), fc.nat(3000)).map(([byte, length]) => Buffer.alloc(length, byte)),
    ),
  },
  { noNullPrototype: true },
);

describe('chunks', () => {
  it('are read back as they were written, for any mix of messages, chunk sizes and slices', () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 12 }),
        fc.integer({ min: 128, max: 5000 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (messages, chunkSize, places) => {
          const writer = new ChunkWriter();
          const sent = [controlMessage(MESSAGE.setChunkSize, chunkSize), ...messages];
          const bytes = Buffer.concat(sent.map((each) => writer.write(each)));
          assert.deepEqual(readAll(cut(bytes, places)), messages);
        },
      ),
    );
  });

  it('are read in the same way byte by byte', () => {
    const writer = new ChunkWriter();
    const payload = Buffer.alloc(300, 7);
    const sent = [0, 5, 10, 0x2000000].map((time) => {
      return { type: MESSAGE.video, streamId: 1, timestamp: time, chunkStreamId: 70, payload };
    });
    const bytes = Buffer.concat(sent.map((each) => writer.write(each)));
    assert.deepEqual(readAll([...bytes].map((byte) => Buffer.of(byte))), sent);
  });

  it('of any bytes give messages or an RTMP error, and reading always ends', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.array(fc.nat(), { maxLength: 5 }), (bytes, places) => {
        try {
          // A message takes at least a byte, so more messages than bytes would mean no progress.
          assert.ok(readAll(cut(Buffer.from(bytes), places)).length <= bytes.length);
        } catch (error) {
          assert.ok(error instanceof RtmpError, String(error));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('of interleaved messages are assembled by their chunk streams', () => {
    const first = Buffer.alloc(200, 1);
    const second = Buffer.alloc(130, 2);
    const bytes = [
      hex('04 000000 0000c8 09 01000000'),
      first.subarray(0, 128),
      hex('05 000000 000082 08 01000000'),
      second.subarray(0, 128),
      hex('c4'),
      first.subarray(128),
      hex('c5'),
      second.subarray(128),
    ];
    assert.deepEqual(
      readAll(bytes).map(({ type, payload }) => [type, payload]),
      [
        [9, first],
        [8, second],
      ],
    );
  });

  it('without a header repeat the last difference, which after a full header is its timestamp (ffmpeg counts on it)', () => {
    const bytes = hex('04 000017 000001 08 01000000 aa   c4 bb   84 000005 cc   c4 dd   44 000002 000001 09 ee');
    assert.deepEqual(
      readAll([bytes]).map((each) => each.timestamp),
      [0x17, 0x2e, 0x33, 0x38, 0x3a],
    );
  });

  it('of audio and video on one chunk stream, as OBS sends them, have times relative to the message before, of either kind', () => {
    const bytes = hex(
      [
        '04 000000 000002 09 01000000 1701', // video at 0
        '44 000005 000002 08 af01', // audio at 5
        '84 000015 af02', // audio of the same length at 26
        '44 000007 000003 09 270102', // video at 33
        '44 00000e 000002 08 af03', // audio at 47
        '44 000013 000003 09 270103', // video at 66
        'c4 270104', // video of the same length and the same difference, at 85
        '44 000000 000002 08 af04', // audio at 85 too
        'c4 af05', // and once more: the difference of 0 is repeated
        '84 000015 af06', // audio at 106
      ].join(' '),
    );
    for (const messages of readCutAnywhere(bytes)) {
      assert.deepEqual(
        messages.map(({ type, timestamp: at }) => [type, at]),
        [
          [9, 0],
          [8, 5],
          [8, 26],
          [9, 33],
          [8, 47],
          [9, 66],
          [9, 85],
          [8, 85],
          [8, 85],
          [8, 106],
        ],
      );
    }
  });

  it('without a header inside a message do not change the time of the message, whatever comes between them', () => {
    const bytes = [
      hex('04 000000 000001 09 01000000 aa   05 000000 000001 08 01000000 bb'),
      hex('44 000021 00012c 09'),
      BODY.subarray(0, 128),
      hex('45 000015 000001 08 bb'),
      hex('c4'),
      BODY.subarray(128, 256),
      hex('c5 bb'),
      hex('c4'),
      BODY.subarray(256),
      ...inChunks('84 000021'),
    ];
    assert.deepEqual(
      readAll(bytes).map(({ type, timestamp: at }) => [type, at]),
      [
        [9, 0],
        [8, 0],
        [8, 21],
        [8, 42],
        [9, 33],
        [9, 66],
      ],
    );
  });

  it('may open a chunk stream with a header of format 1, as librtmp does', () => {
    const [opened] = readAll([hex('42 000007 000002 04 0001')]);
    assert.deepEqual([opened?.type, opened?.streamId, opened?.timestamp], [4, 0, 7]);
  });

  for (const [encoder, repeat] of [
    ['repeat the extended timestamp', '01000000'],
    ['leave it out', ''],
  ] as const) {
    it(`with extended timestamps are read when continuations ${encoder}`, () => {
      const chunks = [...inChunks('04 ffffff 00012c 09 01000000 01000000', `c4 ${repeat}`), ...inChunks('84 000003')];
      for (const messages of readCutAnywhere(Buffer.concat(chunks))) {
        assert.deepEqual(
          messages.map((each) => each.timestamp),
          [0x1000000, 0x1000003],
        );
        for (const { payload } of messages) assert.deepEqual(payload, BODY);
      }
    });
  }

  it('wrap their timestamps at 32 bits', () => {
    const messages = readAll([hex('04 ffffff 000001 08 01000000 fffffffe aa   84 000005 bb')]);
    assert.deepEqual(
      messages.map((each) => each.timestamp),
      [0xfffffffe, 3],
    );
  });

  it('may have a size of 128 MB, as joy4 and vdk (Go) state', () => {
    const whole = {
      type: MESSAGE.video,
      streamId: 1,
      timestamp: 0,
      chunkStreamId: 4,
      payload: Buffer.alloc(90_000, 1),
    };
    for (const size of [128 << 20, 0x7fffffff]) {
      const writer = new ChunkWriter();
      const bytes = [controlMessage(MESSAGE.setChunkSize, size), whole].map((each) => writer.write(each));
      assert.deepEqual(readAll(cut(Buffer.concat(bytes), [40, 50_000])), [whole]);
    }
  });

  it('of an aborted message are discarded', () => {
    const abandoned = [hex('04 000000 015f90 09 01000000'), Buffer.alloc(128, 1)];
    const abort = hex('02 000000 000004 02 00000000 00000004');
    // Together more than the incomplete messages may have.
    const rounds = Array.from({ length: 5 }, () => [...abandoned, abort]).flat();
    const messages = readAll([...rounds, hex('04 000009 000001 09 01000000 ff')]);
    assert.deepEqual(
      messages.map(({ timestamp: time, payload }) => [time, payload]),
      [[9, Buffer.of(0xff)]],
    );
  });

  it('of complete messages no longer count towards the limit of incomplete ones', () => {
    const writer = new ChunkWriter();
    const whole = { type: MESSAGE.video, streamId: 1, timestamp: 0, chunkStreamId: 4, payload: Buffer.alloc(90_000) };
    const reader = new ChunkReader(LIMITS);
    for (let count = 0; count < 10; count++) assert.equal(readAll([writer.write(whole)], reader).length, 1);
  });

  it('that set the chunk size or abort a message are obeyed and also returned, so that they can be counted', () => {
    const reader = new ChunkReader(LIMITS);
    reader.feed(hex('02 000000 000004 01 00000000 00001000   02 000000 000004 02 00000000 00000004'));
    assert.deepEqual([reader.next()?.type, reader.next()?.type], [MESSAGE.setChunkSize, MESSAGE.abort]);
    assert.equal(reader.next(), undefined);
  });

  it('can be left in the middle of a slice, and continued later', () => {
    const reader = new ChunkReader(LIMITS);
    reader.feed(hex('04 000000 000001 08 01000000 aa   c4 bb   c4'));
    assert.deepEqual(reader.next()?.payload, Buffer.of(0xaa));
    reader.feed(hex('cc'));
    assert.deepEqual(reader.next()?.payload, Buffer.of(0xbb));
    assert.deepEqual(reader.next()?.payload, Buffer.of(0xcc));
    assert.equal(reader.next(), undefined);
  });
});

describe('a peer cannot', () => {
  const refused = (code: string, bytes: Buffer, limits = LIMITS) => {
    assert.throws(() => readAll([bytes], new ChunkReader(limits)), { name: 'RtmpError', code });
  };

  it('have memory allocated for a message above the limit (red5#456)', () => {
    refused('message_too_large', hex('04 000000 ffffff 09 01000000'));
  });

  it('have memory allocated for many incomplete messages', () => {
    const begin = (id: number) => Buffer.concat([Buffer.of(id), hex('000000 013880 09 01000000'), Buffer.alloc(128)]);
    refused('message_too_large', Buffer.concat([begin(4), begin(5), begin(6)]));
  });

  it('make messages consist of many small chunks (red5#475), or state a chunk size beyond 31 bits', () => {
    for (const size of [0, 1, 127, 0x80000000, 0xffffffff]) {
      const bytes = hex('02 000000 000004 01 00000000 00000000');
      bytes.writeUInt32BE(size, 12);
      refused('chunk_size_out_of_bounds', bytes);
    }
  });

  it('open chunk streams without end', () => {
    const streams = Array.from({ length: 9 }, (_, index) => {
      return Buffer.concat([Buffer.of(4 + index), hex('000000 000001 08 01000000 aa')]);
    });
    refused('too_many_chunk_streams', Buffer.concat(streams));
  });

  it('continue a message that it never began, or begin a message within another', () => {
    refused('chunk_invalid', hex('c4'));
    refused('chunk_invalid', hex('84 000001'));
    refused(
      'chunk_invalid',
      Buffer.concat([hex('04 000000 0000c8 09 01000000'), Buffer.alloc(128), hex('04 000000 0000c8 09 01000000')]),
    );
  });

  it('send a control message that is too short', () => {
    refused('message_invalid', hex('02 000000 000002 01 00000000 0000'));
  });
});
