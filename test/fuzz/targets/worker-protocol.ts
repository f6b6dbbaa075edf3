/**
 * The protocol between the server and a transcoder's worker in both directions, from bytes to messages.
 */
import assert from 'node:assert/strict';
import { ticks } from '#lib/units.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import type { Packet } from '#media/packet.ts';
import { FrameReader, FramingError, frameHeader, type StreamFrame } from '#transcode/framing.ts';
import type { RenditionPlan } from '#transcode/rendition-plan.ts';
import type { FromWorker, ToWorker } from '#transcode/worker-messages.ts';
import {
  decodeFromWorker,
  decodeToWorker,
  encodeFromWorker,
  encodeToWorker,
  PROTOCOL_VERSION,
} from '#transcode/worker-protocol.ts';
import { WorkerResults } from '#transcode/worker-results.ts';
import { CONFIGS, UNITS } from '../recorded.ts';
import { slices } from '../slices.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

const PLAN: RenditionPlan = {
  id: '360p0',
  profile: '360p0',
  width: 640,
  height: 360,
  frameRate: { num: 30, den: 1 },
  bitrateBps: 800_000,
  peakBitrateBps: 1_600_000,
  bufferBits: 800_000,
  quality: undefined,
  keyframes: { type: 'cuts' },
  h264Profile: 'H264ConstrainedHigh',
};
const VIDEO_SOURCE = {
  codec: 'h264',
  config: CONFIGS.h264[0]!,
  width: 1280,
  height: 720,
  framesPerSecond: 30,
} as const;
const AUDIO_SOURCE = { codec: 'opus', config: CONFIGS.opus[0]!, sampleRate: 48_000, channels: 2 } as const;
const VIDEO_PACKET: Packet = {
  kind: 'video',
  pts: ticks(9000),
  dts: ticks(6000),
  keyframe: true,
  data: UNITS.h264[0]!,
  mark: { ordinal: 0, independent: true, discontinuity: true, discontinuitiesBefore: 0 },
};

const TO_WORKER: readonly ToWorker[] = [
  { type: 'job', job: { version: PROTOCOL_VERSION, preset: 'veryfast', threads: 1, pictures: ['poster', 'tile'] } },
  { type: 'source', source: { ...VIDEO_SOURCE, renditions: [PLAN] } },
  { type: 'packet', packet: VIDEO_PACKET, afterGap: true },
  { type: 'held', pts: ticks(12_000) },
  { type: 'audio_source', source: AUDIO_SOURCE },
  { type: 'audio', packet: { pts: 960, data: UNITS.opus[0]! } },
  { type: 'active', renditions: [0] },
  { type: 'flush' },
];
const FROM_WORKER: readonly FromWorker[] = [
  { type: 'ready', version: PROTOCOL_VERSION },
  { type: 'begun' },
  { type: 'config', rendition: 0, config: CONFIGS.h264[0]! },
  {
    type: 'packet',
    packet: { rendition: 0, pts: 9000, dts: 6000, keyframe: true, marked: true, data: UNITS.h264[0]! },
  },
  { type: 'audio_config', config: CONFIGS.aac[0]! },
  { type: 'audio', packet: { pts: 1024, data: UNITS.aac[0]! } },
  { type: 'picture', kind: 'poster', pts: 9000, jpeg: Buffer.from('ffd8ffd9', 'hex') },
  { type: 'picture', kind: 'tile', pts: 9000, jpeg: Buffer.from('ffd8ffd9', 'hex') },
  { type: 'missing' },
  { type: 'preparing' },
  { type: 'failed', rendition: 0 },
  { type: 'out_of_memory' },
  { type: 'done', count: 3 },
  {
    type: 'health',
    health: { rssBytes: 100_000_000, cpuMs: 1234.5, decodeErrors: 0, encodeErrors: 0, blackS: 0, frozenS: 1.5 },
  },
];

const bytesOf = (pieces: readonly Uint8Array[]): Buffer => Buffer.concat(pieces);
const toWorker = TO_WORKER.map((message) => bytesOf(encodeToWorker(message)));
const fromWorker = FROM_WORKER.map((message) => bytesOf(encodeFromWorker(message)));
const unsliced = (...messages: readonly Buffer[]): Buffer => Buffer.concat([Buffer.of(0), ...messages]);

/** Messages that must be refused: health that is not an object, and a packet shown later than any packet that was sent. */
const IMPOSSIBLE: readonly Buffer[] = [
  Buffer.concat([frameHeader(fromWorker.at(-1)![4]!, 4), Buffer.from('null')]),
  Buffer.concat([
    ...fromWorker.slice(1, 3),
    ...encodeFromWorker({
      type: 'packet',
      packet: { rendition: 0, pts: VIDEO_PACKET.pts + 1, dts: 0, keyframe: true, marked: false, data: UNITS.h264[0]! },
    }),
  ]),
];

/** The framing: frames are the same however their bytes are cut. The first byte of an input says how long the slices are. */
export const framesTarget: Target = {
  name: 'worker-frames',
  corpus: [unsliced(...toWorker), unsliced(...fromWorker), Buffer.concat([Buffer.of(5), ...fromWorker])],
  dictionary: [Uint8Array.of(0, 0, 0, 0), Uint8Array.of(1, 0, 0, 0), Uint8Array.of(1, 0, 0, 1)],
  open: () => ({
    read(input) {
      const whole = cut([input.subarray(1)]);
      if (input[0] !== 0) assert.deepEqual(cut(slices(input)), whole, 'slices give other frames than the whole');
      return behaviour(magnitude(whole.frames), magnitude(whole.bytes), Number(whole.broken));
    },
  }),
};

/** The messages of the server. The worker trusts their values, so only reading them is tested. */
export const toWorkerTarget: Target = {
  name: 'to-worker',
  corpus: toWorker.map((message) => unsliced(message)),
  dictionary: ['"renditions":[', '{}', 'null', '"__proto__":'],
  expected: [FramingError],
  open: () => ({
    read(input) {
      let seen = 0;
      for (const frame of frames(input)) {
        const message = decodeToWorker(frame);
        seen = behaviour(seen, message.type.length);
        // Only video and audio packets: unchecked values of JSON messages may change when they are written again.
        if (message.type !== 'packet' && message.type !== 'audio') continue;
        assert.deepEqual(
          decodeToWorker(again(encodeToWorker(message))),
          message,
          'written again, the message reads differently',
        );
      }
      return seen;
    },
  }),
};

/** The messages of a worker, up to the tracks and packets made of them: the server trusts nothing in them. */
export const fromWorkerTarget: Target = {
  name: 'from-worker',
  corpus: [unsliced(...fromWorker), ...[...fromWorker, ...IMPOSSIBLE].map((message) => unsliced(message))],
  dictionary: [...fromWorker.filter((message) => message.length < 100), '{"version":', 'null', '1e999', '"__proto__":'],
  expected: [FramingError, InvalidCodecConfigError],
  open: () => ({
    read(input) {
      let seen = 0;
      const lastDts = new Map<string, number>();
      const results = new WorkerResults({
        onTrack: () => {
          seen = behaviour(seen, 1);
        },
        onPacket: (id, { dts, pts, data }) => {
          must(
            Number.isSafeInteger(dts) && Number.isSafeInteger(pts) && dts >= 0 && pts >= dts,
            () => `${dts}, ${pts}`,
          );
          must(pts <= VIDEO_PACKET.pts, () => `a packet at ${pts}, a time that was never sent`);
          must(
            dts > (lastDts.get(id) ?? -1) && data.length > 0,
            () => 'an empty packet, or one that is not decoded after the one before',
          );
          lastDts.set(id, dts);
          seen = behaviour(seen, 2);
        },
        onAudioTrack: () => {
          seen = behaviour(seen, 3);
        },
        onAudioPacket: ({ pts }) => {
          must(pts >= 0 && pts < 48_000, () => `audio at ${pts}`);
          seen = behaviour(seen, 4);
        },
      });
      results.announce({ renditions: [PLAN], declaredFrameRate: 25 });
      results.sent({ type: 'packet', packet: VIDEO_PACKET });
      results.expectAudioUntil(48_000);
      for (const frame of frames(input)) {
        const message = decodeFromWorker(frame);
        seen = behaviour(seen, message.type.length);
        take(results, message);
      }
      return seen;
    },
  }),
};

function* frames(input: Buffer): Generator<StreamFrame> {
  const reader = new FrameReader();
  for (const slice of slices(input)) yield* reader.push(slice);
}

function cut(parts: readonly Buffer[]) {
  const reader = new FrameReader();
  let [frameCount, bytes, hash, broken] = [0, 0, 0, false];
  try {
    for (const part of parts) {
      for (const { type, payload } of reader.push(part)) {
        frameCount += 1;
        bytes += payload.length;
        hash = behaviour(hash, type, payload.length, payload[0] ?? -1, payload.at(-1) ?? -1);
      }
    }
  } catch (error) {
    if (!(error instanceof FramingError)) throw error;
    broken = true;
  }
  return { frames: frameCount, bytes, hash, broken };
}

function again(pieces: readonly Uint8Array[]): StreamFrame {
  const [frame] = new FrameReader().push(bytesOf(pieces));
  return frame!;
}

/** Hands a message on as the supervisor of the worker process does. */
function take(results: WorkerResults, message: FromWorker): void {
  if (message.type === 'begun') results.begun();
  else if (message.type === 'config') results.config(message.rendition, message.config);
  else if (message.type === 'packet') results.packet(message.packet);
  else if (message.type === 'audio_config') results.audioConfig(message.config);
  else if (message.type === 'audio') results.audio(message.packet);
}
