import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Profile } from '#domain/profile.ts';
import { ticks } from '#lib/units.ts';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import type { Packet } from '#media/packet.ts';
import { PICTURE_KINDS, type PictureKind } from '#media/picture.ts';
import type { HeldEvent } from '#media/session-event.ts';
import { joinTiles } from '#media/tile-sheet.ts';
import { type Clip, later, makeClip, marked, show } from '#test/support/clip.ts';
import { decodeJpeg } from '#test/support/jpeg.ts';
import { markAt } from '#test/support/tracks.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import { PROTOCOL_VERSION } from '#transcode/worker-protocol.ts';
import { Ladder } from './ladder.ts';
import type { RungFrame } from './rung.ts';

const FRAME = 3000;

const profile = (rest: Partial<Profile> = {}): Profile => ({
  name: 'half',
  bitrate: 500_000,
  fps: 0,
  width: 320,
  height: 180,
  ...rest,
});

/** The output of a ladder for a clip, by rendition. */
class Made implements Disposable {
  readonly ladder: Ladder;
  readonly configs: Uint8Array[][] = [];
  readonly encoded: RungFrame[][] = [];
  readonly pictures: { readonly kind: PictureKind; readonly pts: number; readonly jpeg: Uint8Array }[] = [];
  /** The renditions whose encoders failed. */
  readonly failed: number[] = [];
  /** The number of times that frames were lost. */
  missing = 0;
  /** How often a mapping of tones was prepared. */
  preparations = 0;

  constructor(clip: Clip, profiles: readonly Profile[], preset = 'ultrafast') {
    const job = { version: PROTOCOL_VERSION, preset, threads: 1, pictures: PICTURE_KINDS };
    this.ladder = new Ladder(job, {
      onConfig: (index, config) => {
        this.configs[index] = [...(this.configs[index] ?? []), config];
      },
      onFrame: (index, frame) => {
        this.encoded[index] = [...(this.encoded[index] ?? []), frame];
      },
      onFailed: (index) => void this.failed.push(index),
      onMissing: () => void this.missing++,
      onPicture: (picture) => void this.pictures.push(picture),
      onPreparing: () => void this.preparations++,
    });
    const { renditions } = planRenditions(profiles, clip.track);
    const { codec, config, width, height, declaredFrameRate } = clip.track;
    this.ladder.setSource({ codec, config, width, height, framesPerSecond: declaredFrameRate ?? 30, renditions });
  }

  write(packets: readonly Packet[], afterGap = false): this {
    for (const [index, packet] of packets.entries()) this.ladder.write({ packet, afterGap: afterGap && index === 0 });
    return this;
  }

  hold(events: readonly HeldEvent[]): this {
    for (const event of events) this.ladder.hold(event);
    return this;
  }

  finish(): this {
    this.ladder.finish();
    return this;
  }

  /** The presentation times of the output, in frames of the clip, in presentation order. */
  frames(index = 0, only: (frame: RungFrame) => boolean = () => true): number[] {
    const chosen = (this.encoded[index] ?? []).filter(only);
    return chosen.map(({ pts }) => pts / FRAME).toSorted((a, b) => a - b);
  }

  /** The burned-in numbers of the decoded rendition, with their times. */
  show(index = 0) {
    const packets = (this.encoded[index] ?? []).map(
      ({ pts, dts, keyframe, data }): Packet => ({ kind: 'video', pts: ticks(pts), dts: ticks(dts), keyframe, data }),
    );
    return show(this.configs[index]!.at(-1)!, packets);
  }

  [Symbol.dispose](): void {
    this.ladder[Symbol.dispose]();
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
const isMarked = ({ marked }: RungFrame) => marked;
const isKeyframe = ({ keyframe }: RungFrame) => keyframe;

const plain = makeClip({ frames: 30, gop: 10 });

it('makes keyframes exactly at the starts of segments, also where the source has none', () => {
  using made = new Made(plain, [profile(), profile({ name: 'best', profile: 'H264High', width: 480, height: 270 })]);
  made.write(marked(plain.packets, (_, index) => [0, 7, 23].includes(index))).finish();
  for (const index of [0, 1]) {
    assert.deepEqual(made.frames(index, isKeyframe), [0, 7, 23]);
    assert.deepEqual(made.frames(index, isMarked), [0, 7, 23]);
    assert.deepEqual(
      made.show(index).map(({ code }) => code?.counter),
      range(0, 30),
    );
  }
});

it('makes a rendition of the lowest bitrate that a profile may have, and the others beside it', () => {
  using made = new Made(plain, [profile({ bitrate: 400 }), profile({ name: 'usual', width: 480, height: 270 })]);
  made.write(marked(plain.packets, (_, index) => index === 0)).finish();
  for (const index of [0, 1]) assert.deepEqual(made.frames(index), range(0, 30));
});

it('makes the other renditions and the pictures when the encoder of one does not open, even if that one is asked for again', () => {
  const tooMuch = 3_000_000_000_000; // x264 counts kbit/s in 32 bits
  using made = new Made(plain, [profile(), profile({ name: 'wild', bitrate: tooMuch, width: 480, height: 270 })]);
  const packets = marked(plain.packets, (_, index) => index % 10 === 0);
  made.write(packets.slice(0, 10));
  made.ladder.setActive([0, 1]);
  made.write(packets.slice(10)).finish();
  assert.deepEqual([made.failed, made.configs[1], made.encoded[1]], [[1], undefined, undefined]);
  assert.deepEqual(made.frames(0), range(0, 30));
  assert.equal(made.missing, 0);
  assert.equal(made.pictures.length, 2);
});

it('keeps exact times with B-frames in the source and in the rendition, and decoding times in order', () => {
  const clip = makeClip({ frames: 40, gop: 20, bFrames: 2 });
  assert.ok(
    clip.packets.some(({ pts, dts }) => pts > dts),
    'the source has B-frames',
  );
  using made = new Made(clip, [profile({ profile: 'H264High' }), profile({ name: 'none', profile: 'H264Baseline' })]);
  // A segment start on a frame that is not a keyframe, followed by frames that are shown before it.
  const cutAt = clip.packets.findIndex(({ pts }, index) => index > 25 && clip.packets[index + 1]!.pts < pts);
  made.write(marked(clip.packets, (packet, index) => packet.keyframe || index === cutAt)).finish();
  const sourceTimes = clip.packets.map(({ pts }) => pts).toSorted((a, b) => a - b);
  const cuts = [
    clip.packets[0]!,
    clip.packets.find((packet, index) => index > 0 && packet.keyframe)!,
    // The segment begins with the first of these frames, which belong to it.
    clip.packets.slice(cutAt).reduce((first, packet) => (packet.pts < first.pts ? packet : first)),
  ];
  for (const index of [0, 1]) {
    assert.deepEqual(
      made.show(index).map(({ pts, code }) => [pts, code?.counter]),
      sourceTimes.map((pts, frame) => [pts, frame]),
    );
    const frames = made.encoded[index]!;
    assert.deepEqual(
      frames.filter(isMarked).map(({ pts }) => pts),
      cuts.map(({ pts }) => pts),
    );
    assert.ok(frames.every(({ dts }, at) => at === 0 || dts > frames[at - 1]!.dts));
    assert.ok(frames.every(({ pts, dts }) => pts >= dts));
  }
  assert.ok(
    made.encoded[0]!.some(
      ({ pts, dts }, at) => pts - dts !== made.encoded[0]![0]!.pts - made.encoded[0]![0]!.dts && at > 0,
    ),
  );
  assert.ok(
    made.encoded[1]!.every(({ pts, dts }) => pts === dts),
    'Baseline has none',
  );
});

it('begins a segment of an open GOP with the frame shown first, or with the keyframe where that is lost', () => {
  const clip = makeClip({ frames: 60, gop: 20, bFrames: 3, openGop: true });
  const packets = marked(clip.packets, ({ keyframe }) => keyframe);
  const [, second, third] = packets.flatMap(({ mark }, index) => (mark === undefined ? [] : [index]));
  const shown = clip.packets.map(({ pts }): number => pts).toSorted((a, b) => a - b);
  const firstOf = (from: number, to?: number) =>
    shown.indexOf(Math.min(...packets.slice(from, to).map(({ pts }) => pts)));
  assert.ok(shown.indexOf(packets[second!]!.pts) > firstOf(second!, third), 'its groups are open');
  const place = (frames: number[]) => frames.map((frame) => shown.indexOf(frame * FRAME));

  using whole = new Made(clip, [profile()]);
  whole.write(packets).finish();
  assert.deepEqual(place(whole.frames(0, isMarked)), [0, firstOf(second!, third), firstOf(third!)]);
  assert.deepEqual(place(whole.frames(0, isKeyframe)), place(whole.frames(0, isMarked)));
  assert.deepEqual(place(whole.frames()), range(0, 60));

  using joined = new Made(clip, [profile()]);
  joined.write(packets.slice(second)).finish();
  assert.deepEqual(place(joined.frames(0, isMarked)), [shown.indexOf(packets[second!]!.pts), firstOf(third!)]);
});

it('makes renditions of an interlaced source', () => {
  const clip = makeClip({ frames: 12, gop: 12, interlaced: true });
  using made = new Made(clip, [profile(), profile({ name: 'same', width: 640, height: 360 })]);
  made.write(marked(clip.packets, ({ keyframe }) => keyframe)).finish();
  for (const index of [0, 1]) {
    assert.deepEqual(
      made.show(index).map(({ code }) => code?.counter),
      range(0, 12),
    );
  }
});

it('keeps uneven times as they are', () => {
  const uneven = [0, 3000, 4500, 9000, 10_530, 40_000, 43_000, 44_170, 75_000, 78_003];
  const clip = makeClip({ frames: uneven.length, gop: 100, ptsOf: (index) => uneven[index]! });
  using made = new Made(clip, [profile(), profile({ name: 'best', profile: 'H264High' })]);
  made.write(marked(clip.packets, (_, index) => index === 0)).finish();
  for (const index of [0, 1]) {
    assert.deepEqual(
      made.show(index).map(({ pts, code }) => [pts, code?.counter]),
      uneven.map((pts, frame) => [pts, frame]),
    );
  }
});

/** Events that the last frame is held, at the times of the frames from one to another. */
const held = (from: number, to: number) =>
  range(from, to).map((frame): HeldEvent => ({ type: 'held', pts: ticks(frame * FRAME) }));

it('repeats a frame until the next one, where that is further away than the length of a part', () => {
  const times = [0, 1, 2, 32, 33];
  const clip = makeClip({ frames: times.length, gop: 100, bFrames: 1, ptsOf: (index) => times[index]! * FRAME });
  using made = new Made(clip, [profile(), profile({ name: 'best', profile: 'H264High' }), profile({ fps: 15 })]);
  made.write(marked(clip.packets, (_, index) => index === 0)).finish();
  const shown = [0, 1, ...Array.from({ length: 30 }, () => 2), 3, 4];
  const first = clip.packets[0]!.pts;
  for (const index of [0, 1]) {
    assert.deepEqual(
      made.show(index).map(({ pts, code }) => [pts - first, code?.counter]),
      shown.map((counter, frame) => [frame * FRAME, counter]),
    );
  }
  assert.equal(made.show(2).length, shown.length / 2);
});

it('repeats no frame of a source that sends fewer frames than it declares, and holds none back for long', () => {
  const clip = makeClip({ frames: 13, gop: 4, ptsOf: (index) => index * 15 * FRAME });
  using made = new Made(clip, [profile({ profile: 'H264High' })]);
  const packets = marked(clip.packets, ({ keyframe }) => keyframe);
  const madeOf = (count: number) => made.write(packets.splice(0, count)).frames().length;
  assert.equal(madeOf(4), 0);
  assert.equal(madeOf(1), 4, 'at the start of a segment, all frames of the previous one');
  assert.equal(madeOf(6), 10, 'then all frames except one');
  made.write(packets).finish();
  const times = range(0, 13).map((frame) => frame * 15);
  assert.deepEqual(made.frames(), times);
  assert.deepEqual(made.frames(0, isKeyframe), [0, 60, 120, 180]);
  assert.equal(made.configs[0]?.length, 2);
  made.encoded[0] = made.encoded[0]!.filter(({ pts }) => pts >= 60 * FRAME);
  assert.deepEqual(
    made.show().map(({ pts, code }) => [pts / FRAME, code?.counter]),
    times.slice(4).map((time, index) => [time, index + 4]),
  );
});

it('repeats the last frame as long as it is held, beginning with a keyframe, and then shows the next one', () => {
  const times = [...range(0, 10), 50, 51];
  const clip = makeClip({ frames: times.length, gop: 100, ptsOf: (index) => times[index]! * FRAME });
  const packets = marked(clip.packets, (_, index) => index === 0);
  using made = new Made(clip, [profile(), profile({ name: 'best', profile: 'H264High' })]);
  made.write(packets.slice(0, 10)).hold(held(10, 40));
  const far = made.frames(1).at(-1)!;
  assert.ok(far > 30, `frame ${far} should not be made before another follows`);
  made.hold(held(40, 50)).write(packets.slice(10)).finish();
  for (const index of [0, 1]) {
    assert.deepEqual(
      made.show(index).map(({ pts, code }) => [pts / FRAME, code?.counter]),
      [...range(0, 10), ...range(10, 50).fill(9), 10, 11].map((counter, frame) => [frame, counter]),
    );
    assert.deepEqual(made.frames(index, isKeyframe), [0, 10]);
  }
});

it('begins a segment with a held frame where the decoder holds the keyframe back', () => {
  const times = [...range(0, 21), 60, 61, 62];
  const clip = makeClip({ frames: times.length, gop: 20, bFrames: 2, ptsOf: (index) => times[index]! * FRAME });
  const packets = marked(clip.packets, ({ keyframe }) => keyframe);
  const first = packets[0]!.pts / FRAME;
  const paused = packets.findIndex(({ keyframe }, index) => keyframe && index > 0) + 1;
  using made = new Made(clip, [profile({ profile: 'H264Baseline' })]);
  made.write(packets.slice(0, paused)).hold(held(first + 21, first + 50));
  const late = [...made.frames(0, isMarked), made.frames().at(-1)!].map((frame) => frame - first);
  assert.deepEqual(late, [0, 21, 48]); // x264 holds one frame
  made.write(packets.slice(paused)).finish();
  assert.equal(made.show().at(-1)?.code?.counter, 23);
});

it('begins a segment with a held frame, and shows none that comes too late', () => {
  using made = new Made(plain, [profile()]);
  const mark = markAt(1, { independent: false });
  const late = held(10, 20).map((event, index) => (index === 5 ? { ...event, mark } : event));
  made.hold(held(0, 3));
  made.write(marked(plain.packets.slice(0, 10), (_, index) => index === 0)).hold(late);
  made.write(plain.packets.slice(10)).finish();
  assert.deepEqual(made.frames(0, isMarked), [0, 15]);
  assert.deepEqual(
    made.show().map(({ code }) => code?.counter),
    [...range(0, 10), ...range(10, 20).fill(9), ...range(20, 30)],
  );
});

it('reduces the frame rate to the source frames nearest to the wanted times, including segment starts', () => {
  const clip = makeClip({
    frames: 60,
    framesPerSecond: 60,
    gop: 60,
    ptsOf: (index) => Math.round((index * 1000) / 60) * 90,
  });
  using made = new Made(clip, [profile({ fps: 30 }), profile({ name: 'all', width: 640, height: 360 })]);
  made.write(marked(clip.packets, (_, index) => index === 0 || index === 31)).finish();
  const counters = made.show(0).map(({ code }) => code?.counter);
  assert.deepEqual(counters, [
    ...range(0, 16).map((index) => index * 2),
    ...range(0, 15).map((index) => 31 + index * 2),
  ]);
  assert.deepEqual(
    made.show(1).map(({ code }) => code?.counter),
    range(0, 60),
  );
});

it('adds the keyframes a profile asks for', () => {
  using made = new Made(plain, [profile({ gop: '0.5' }), profile({ name: 'intra', gop: 'intra' })]);
  made.write(marked(plain.packets, (_, index) => index === 0 || index === 10)).finish();
  assert.deepEqual(made.frames(0, isKeyframe), [0, 10, 25]);
  assert.deepEqual(made.frames(1, isKeyframe), range(0, 30));
  assert.deepEqual(made.frames(1, isMarked), [0, 10]);
});

it('makes the requested H.264 profile', () => {
  // Faster presets do not use the features of High, and x264 then declares a lower profile.
  const asked = ['H264Baseline', 'H264Main', 'H264High', 'H264ConstrainedHigh'] as const;
  using made = new Made(
    plain,
    asked.map((name) => profile({ name, profile: name })),
    'veryfast',
  );
  made.write(marked(plain.packets, (_, index) => index === 0)).finish();
  const codecs = made.configs.map(([config]) => parseAvcConfig(config!).codecString.slice(0, 7));
  assert.deepEqual(codecs, ['avc1.42', 'avc1.4d', 'avc1.64', 'avc1.64']);
});

it('begins again at a segment when packets are missing, and loses nothing that came before', () => {
  using made = new Made(plain, [profile()]);
  const packets = marked(plain.packets, (_, index) => index === 0 || index === 22);
  made.write(packets.slice(0, 5)).write(packets.slice(20), true).finish();
  assert.deepEqual(made.frames(), [...range(0, 5), ...range(22, 30)]);
  assert.deepEqual(made.frames(0, isMarked), [0, 22]);
});

it('hands out everything before a discontinuity, and continues with the same configuration', () => {
  using made = new Made(plain, [profile({ profile: 'H264High' })]);
  const first = marked(plain.packets.slice(0, 10), (_, index) => index === 0);
  made.write(first);
  assert.ok(made.frames().length < 10, 'the encoder holds some frames');
  const [head, ...rest] = later(plain.packets, 1_000_000);
  made.write([{ ...head!, mark: markAt(1, { discontinuity: true }) }]);
  assert.deepEqual(made.frames(), range(0, 10));
  made.write(rest).finish();
  assert.equal(made.frames().length, 40);
  const [before, after] = made.configs[0]!;
  assert.deepEqual(before, after);
});

it('makes only the active renditions, and begins a restored one at a segment', () => {
  using made = new Made(plain, [profile(), profile({ name: 'large', width: 480, height: 270 })]);
  const packets = marked(plain.packets, (_, index) => index % 10 === 0);
  made.write(packets.slice(0, 5));
  made.ladder.setActive([0]);
  made.write(packets.slice(5, 15));
  made.ladder.setActive([0, 1]);
  made.write(packets.slice(15)).finish();
  assert.deepEqual(made.frames(0), range(0, 30));
  assert.deepEqual(
    made.frames(1).filter((frame) => frame >= 5),
    range(20, 30),
  );
  assert.deepEqual(
    made.show(0).map(({ code }) => code?.counter),
    range(0, 30),
  );
});

/** The CPU time of some work, in milliseconds. */
function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

it('maps the tones of an HDR source once for all renditions and pictures, whichever renditions are made', () => {
  const clip = makeClip({ frames: 20, gop: 5, framesPerSecond: 60, isPq: true });
  // Frame rates that do not divide each other: the smaller rendition takes frames that the larger ones skip.
  const sizes = [480, 320, 160].map((width) => ({ name: `${width}`, width, height: (width * 9) / 16 }));
  using made = new Made(clip, [
    profile({ ...sizes[0], fps: 30 }),
    profile({ ...sizes[1], fps: 30 }),
    profile({ ...sizes[2], fps: 25 }),
  ]);
  const packets = marked(clip.packets, ({ keyframe }) => keyframe);
  const firstMs = cpuMsOf(() => made.write(packets.slice(0, 1)));
  const others = [undefined, [1, 2], [2], [0, 1, 2]].map((active, index) => {
    if (active !== undefined) made.ladder.setActive(active);
    return cpuMsOf(() => made.write(packets.slice(5 * index + 1, 5 * index + 6)));
  });
  made.finish();
  assert.equal(made.preparations, 1);
  assert.ok(Math.max(...others) < firstMs / 4, `${firstMs} ms at first, and then ${others.join(', ')} ms`);
  assert.deepEqual(
    made.configs.map(([config]) => parseAvcConfig(config!).videoRange),
    ['SDR', 'SDR', 'SDR'],
  );
  assert.deepEqual(
    made.pictures.map(({ kind, jpeg }) => [kind, jpegSize(jpeg).width]),
    [
      ['poster', 640],
      ['tile', 160],
    ],
  );
});

it('maps tones once for both pictures where no rendition is made', () => {
  using made = new Made(makeClip({ frames: 1, isPq: true }), []);
  made.write(makeClip({ frames: 1, isPq: true }).packets);
  assert.deepEqual([made.preparations, made.pictures.length], [1, 2]);
});

it('makes pictures even when no rendition is made: a poster every five seconds, and a tile every ten', () => {
  const clip = makeClip({ width: 1280, height: 720, frames: 14, gop: 2, ptsOf: (index) => index * 90_000 });
  using made = new Made(clip, []);
  made.write(marked(clip.packets, ({ keyframe }) => keyframe)).finish();
  assert.deepEqual(
    made.pictures.map(({ kind, pts, jpeg }) => ({ kind, atS: pts / 90_000, ...jpegSize(jpeg) })),
    [
      { kind: 'poster', atS: 0, width: 640, height: 360 },
      { kind: 'tile', atS: 0, width: 160, height: 90 },
      { kind: 'poster', atS: 6, width: 640, height: 360 },
      { kind: 'tile', atS: 10, width: 160, height: 90 },
      { kind: 'poster', atS: 12, width: 640, height: 360 },
    ],
  );
});

it('makes tiles that a sheet joins without changing a pixel, whatever the shape of the video', () => {
  const tiles = [
    { width: 640, height: 360 },
    { width: 360, height: 640 },
  ].flatMap(({ width, height }) => {
    const clip = makeClip({ width, height, frames: 7, gop: 1, ptsOf: (index) => index * 900_000 });
    using made = new Made(clip, []);
    made.write(marked(clip.packets, ({ keyframe }) => keyframe)).finish();
    return made.pictures.filter(({ kind }) => kind === 'tile').map(({ jpeg }) => jpeg);
  });
  assert.equal(tiles.length, 14);
  const sheet = decodeJpeg(joinTiles([...tiles, Buffer.from('no tile')])!);
  assert.deepEqual([sheet.width, sheet.height], [1600, 192]);
  for (const [index, tile] of tiles.entries()) {
    const alone = decodeJpeg(tile);
    for (let y = 0; y < 90; y += 1) {
      const at = (Math.floor(index / 10) * 96 + y) * sheet.pitch + (index % 10) * 160;
      const expected = alone.luma.subarray(y * alone.pitch, y * alone.pitch + 160);
      assert.ok(expected.equals(sheet.luma.subarray(at, at + 160)), `tile ${index}, row ${y}`);
    }
  }
  for (const x of [4 * 160 + 80, 9 * 160 + 80]) {
    assert.equal(sheet.luma[(96 + 45) * sheet.pitch + x], 128, 'grey where there is no tile');
  }
  const upright = decodeJpeg(tiles.at(-1)!).luma;
  assert.ok(upright[45 * 160]! < 8, 'a bar beside an upright video');
});

it('keeps the average bitrate within 10 %, and every segment below the announced peak', () => {
  const clip = makeClip({ frames: 300, gop: 60 });
  for (const h264Profile of ['H264High', 'H264ConstrainedHigh'] as const) {
    const asked = profile({ bitrate: 60_000, width: 640, height: 360, profile: h264Profile });
    using made = new Made(clip, [asked]);
    made.write(marked(clip.packets, (_, index) => index % 60 === 0)).finish();
    const frames = made.encoded[0]!;
    const bits = (list: readonly RungFrame[]) => 8 * list.reduce((sum, { data }) => sum + data.length, 0);
    const average = bits(frames) / 10;
    assert.ok(Math.abs(average / asked.bitrate - 1) <= 0.1, `${average} bit/s on average`);
    const { peakBitrateBps } = planRenditions([asked], clip.track).renditions[0]!;
    for (const segment of range(0, 5)) {
      const peak = bits(frames.filter(({ pts }) => Math.floor(pts / FRAME / 60) === segment)) / 2;
      assert.ok(peak <= peakBitrateBps, `${peak} bit/s in segment ${segment}`);
    }
  }
});

it('uses less than the bitrate when a constant quality needs no more', () => {
  const bytesOf = (rest: Partial<Profile>) => {
    using made = new Made(plain, [profile({ bitrate: 5_000_000, ...rest })]);
    made.write(marked(plain.packets, (_, index) => index === 0)).finish();
    return made.encoded[0]!.reduce((sum, { data }) => sum + data.length, 0);
  };
  const [good, poor] = [bytesOf({ quality: 15 }), bytesOf({ quality: 40 })];
  assert.ok(poor * 3 < good, `${poor} bytes at 40, ${good} at 15`);
  assert.ok(bytesOf({ quality: 0 }) > 0, 'quality 0 is accepted, too');
});

/** Reads the size from the frame header (ITU-T T.81 §B.2.2). */
function jpegSize(jpeg: Uint8Array): { width: number; height: number } {
  const view = Buffer.from(jpeg);
  for (let at = 2; at < view.length; at += 2 + view.readUInt16BE(at + 2)) {
    if (view[at + 1] === 0xc0) return { height: view.readUInt16BE(at + 5), width: view.readUInt16BE(at + 7) };
  }
  throw new Error('no frame header');
}
