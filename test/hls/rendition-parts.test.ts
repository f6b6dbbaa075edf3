/**
 * Tests parts that the transcoder's encoder and the packager make together: no part holds back a frame of the previous one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMediaMemory } from '#hls/media-memory.ts';
import { createPresentation } from '#hls/presentation.ts';
import { ms, ticks } from '#lib/units.ts';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import { VIDEO_TIMESCALE } from '#media/track.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import { Ladder } from '#transcode/worker/ladder.ts';
import { PROTOCOL_VERSION } from '#transcode/worker-protocol.ts';
import { later, makeClip, marked } from '../support/clip.ts';
import { readTrack } from '../support/iso-bmff.ts';
import { asEvent, markAt } from '../support/tracks.ts';

const NTSC = 60_000 / 1001;
const SEGMENT_S = 2;
const SEGMENTS = 3;
/** Small, because only times matter. */
const SOURCE_SIZE = { width: 320, height: 96 };
const SIZE = { width: 160, height: 48 };
/** As in a session, because encoders decode some frames before time 0. */
const START = VIDEO_TIMESCALE;

interface Case {
  readonly fps: number;
  /** What the bitstream says, if that is not so. */
  readonly declared?: number | undefined;
  /** The profile's rate; 0 keeps every frame. */
  readonly limit?: number;
}

const CASES: readonly Case[] = [
  ...[24, 25, NTSC / 2, 30, 50, NTSC, 60].map((fps) => ({ fps })),
  { fps: 60, declared: undefined },
  { fps: 60, declared: 30 },
  { fps: 25, declared: 30 },
  { fps: 50, limit: 25 },
  { fps: 60, limit: 30 },
  { fps: 50, limit: 30 },
  { fps: NTSC, limit: NTSC / 2 },
];

for (const { fps, limit = 0, ...rest } of CASES) {
  const declared = 'declared' in rest ? rest.declared : fps;
  const saysSo = declared === fps ? '' : `, declared as ${declared}`;
  const rate = limit === 0 ? '' : ` reduced to ${limit.toFixed(2)}`;
  test(`at ${fps.toFixed(2)} frames a second${saysSo}${rate} every part shows the frames after those of the part before`, () => {
    const { source, rendition } = partsOf({ fps, declared, limit });
    // Without a declaration the rate was measured over a segment.
    const from = declared === fps ? 0 : START + SEGMENT_S * VIDEO_TIMESCALE;
    // The last part is made at the end. It may repeat a frame, so that all tracks end together.
    assertInOrder(rendition.slice(0, -1), from);
    assert.ok(rendition.length > (SEGMENTS - 1) * 5, `${rendition.length} parts`);
    if (limit > 0) return;
    // The duration of the last frame is an estimate, and later media is made at the end.
    assert.deepEqual(
      lastFrames(rendition, from).slice(0, -2),
      lastFrames(source, from).slice(0, lastFrames(rendition, from).length - 2),
    );
  });
}

/** The presentation times of each part's frames, in ticks. */
type Parts = readonly (readonly number[])[];

function assertInOrder(parts: Parts, from: number): void {
  let shownUntil = -1;
  for (const times of parts) {
    if (times[0]! >= from) {
      assert.ok(Math.min(...times) > shownUntil, `a frame of ${Math.min(...times)} in a part after ${shownUntil}`);
    }
    shownUntil = Math.max(shownUntil, ...times);
  }
}

const lastFrames = (parts: Parts, from: number) =>
  parts.filter(([first]) => first! >= from).map((times) => Math.max(...times));

/** Publishes a clip with times in whole milliseconds, as in RTMP, and lists the parts of both renditions. */
function partsOf({ fps, declared, limit }: Required<Case>): { source: Parts; rendition: Parts } {
  const perSegment = Math.round(fps * SEGMENT_S);
  const clip = makeClip({
    ...SOURCE_SIZE,
    frames: perSegment * SEGMENTS,
    framesPerSecond: fps,
    gop: perSegment,
    ptsOf: (index) => Math.round((index * 1000) / fps) * 90,
  });
  const track = { ...clip.track, declaredFrameRate: declared };
  using presentation = createPresentation({
    targetDurationS: 4,
    windowS: 36,
    firstMediaSequence: 0,
    firstDiscontinuitySequence: 0,
    epoch: ms(0),
    profiles: [],
    continued: false,
    uriPrefix: 'path',
    memory: createMediaMemory(2 ** 30),
    memoryUser: { id: 'user', quotaBytes: Number.POSITIVE_INFINITY },
    onFirstPart: () => {},
    onMemoryExhausted: () => {},
    onSinkFailed: () => {},
  });
  const profile = {
    name: 'small',
    bitrate: 300_000,
    fps: Math.round(limit * 1001),
    fpsDen: 1001,
    ...SIZE,
  };
  const { renditions } = planRenditions([profile], track);
  const job = { version: PROTOCOL_VERSION, preset: 'ultrafast', threads: 1, pictures: [] };
  let lastDts = -1;
  using ladder = new Ladder(job, {
    onConfig: (_, config) => {
      const { frameRate } = renditions[0]!;
      const declaredFrameRate = frameRate === undefined ? declared : frameRate.num / frameRate.den;
      presentation.write('small', { type: 'track', track: { ...parseAvcConfig(config), declaredFrameRate } });
    },
    onFrame: (_, { pts, dts, marked, ...picture }) => {
      lastDts = Math.max(dts, lastDts + 1);
      const packet = { kind: 'video', pts: ticks(pts), dts: ticks(lastDts), ...picture } as const;
      const mark = markAt(Math.round((pts - START) / VIDEO_TIMESCALE / SEGMENT_S));
      presentation.write('small', asEvent(marked ? { ...packet, mark } : packet));
    },
    onMissing: () => assert.fail('frames are missing'),
    onPicture: () => {},
    onPreparing: () => {},
    onFailed: () => assert.fail('the encoder has failed'),
  });
  const packaged = new Map<string, number[][]>(['source', 'small'].map((id) => [id, []]));
  const inits = new Map<string, Buffer>();
  presentation.attach({
    write: (id, piece) => {
      if (piece.type === 'init') inits.set(`${id}/${piece.name}`, Buffer.from(piece.bytes));
      if (piece.type !== 'part') return;
      const { samples } = readTrack(inits.get(`${id}/${piece.init}`)!, Buffer.concat(piece.pieces));
      packaged.get(id)!.push(samples.map(({ pts }) => pts));
    },
  });
  presentation.write('source', { type: 'track', track });
  const { codec, config, width, height } = track;
  ladder.setSource({ codec, config, width, height, framesPerSecond: declared ?? 30, renditions });
  for (const packet of marked(later(clip.packets, START), ({ keyframe }) => keyframe)) {
    presentation.write('source', asEvent(packet));
    ladder.write({ packet, afterGap: false });
  }
  ladder.finish();
  for (const id of ['source', 'small']) presentation.write(id, { type: 'end' });
  return { source: packaged.get('source')!, rendition: packaged.get('small')! };
}
