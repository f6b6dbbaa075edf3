import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
  AV_LOG_QUIET,
  AV_PIX_FMT_YUV420P,
  AVCOL_PRI_BT709,
  AVCOL_SPC_BT709,
  AVCOL_TRC_ARIB_STD_B67,
  AVCOL_TRC_BT709,
  AVCOL_TRC_SMPTE2084,
} from 'node-av/constants';
import { type Frame, Log } from 'node-av/lib';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import { grey } from '#test/support/grey-frame.ts';
import { VIDEO_TRACK } from '#test/support/tracks.ts';
import { ENCODERS } from '#transcode/encoders.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import { ToneMapper } from './tone-mapper.ts';
import { VideoEncoder } from './video-encoder.ts';

Log.setLevel(AV_LOG_QUIET);

const SIZE = { width: 160, height: 90 };
const BLACK = 16;
const WHITE = 235;

/** The video range that a rendition of such frames declares. */
function rangeOf(first: Frame) {
  const [plan] = planRenditions([{ name: 'small', bitrate: 300_000, fps: 0, ...SIZE }], {
    ...VIDEO_TRACK,
    ...SIZE,
  }).renditions;
  const settings = { preset: 'ultrafast', threads: 1, framesPerSecond: 30 };
  using encoder = new VideoEncoder(ENCODERS[0], { plan: plan!, settings, first }, () => {});
  return parseAvcConfig(encoder.config).videoRange;
}

// BT.2408: the level at which each transfer function puts diffuse white, 203 cd/m².
const WHITES = [
  ['PQ', AVCOL_TRC_SMPTE2084, 573],
  ['HLG', AVCOL_TRC_ARIB_STD_B67, 721],
] as const;

it('maps tones of PQ and HLG: black stays black, diffuse white is white, nothing exceeds white, and what takes long is announced', () => {
  let announcedAtMs: number | undefined;
  using mapper = new ToneMapper(SIZE, () => {
    announcedAtMs = cpuMs();
  });
  for (const [what, colorTrc, white] of WHITES) {
    const made = [64, white, 940].map((luma) => {
      announcedAtMs = undefined;
      const beganAtMs = cpuMs();
      const frame = mapper.map(grey(luma, colorTrc));
      const tookMs = cpuMs() - (announcedAtMs ?? beganAtMs);
      assert.deepEqual([frame.width, frame.height, frame.format], [160, 90, AV_PIX_FMT_YUV420P]);
      assert.deepEqual(
        [frame.colorSpace, frame.colorPrimaries, frame.colorTrc],
        [AVCOL_SPC_BT709, AVCOL_PRI_BT709, AVCOL_TRC_BT709],
      );
      assert.equal(rangeOf(frame), 'SDR');
      return { shown: frame.data![0]![0]!, tookMs, isAnnounced: announcedAtMs !== undefined };
    });
    const off = [BLACK, WHITE, WHITE].map((luma, index) => Math.abs(made[index]!.shown - luma));
    assert.ok(Math.max(...off) <= 3, `${what}: off by ${off.join()}`);
    // Only the first frame of each transfer function is announced.
    assert.deepEqual(
      made.map(({ isAnnounced }) => isAnnounced),
      [true, false, false],
    );
    const [first, ...others] = made.map(({ tookMs }) => tookMs);
    assert.ok(
      first! > 10 * Math.max(...others),
      `${first} ms after the announcement, and ${others.join()} ms without one`,
    );
  }
});

it('metadata about a mastering display causes no long computation before the announcement, and none when it changes', () => {
  let announced = 0;
  let announcedAtMs = 0;
  using mapper = new ToneMapper(SIZE, () => {
    announced += 1;
    announcedAtMs = cpuMs();
  });
  const frame = (nits: number) => {
    const mastered = grey(573, AVCOL_TRC_SMPTE2084);
    describeDisplay(mastered, nits);
    return mastered;
  };
  const beganAtMs = cpuMs();
  mapper.map(frame(4000));
  const firstEndMs = cpuMs();
  mapper.map(frame(1000));
  const otherMs = cpuMs() - firstEndMs;
  assert.equal(announced, 1);
  const preparedMs = firstEndMs - announcedAtMs;
  const beforeMs = announcedAtMs - beganAtMs;
  assert.ok(
    preparedMs > 10 * (beforeMs + otherMs),
    `${preparedMs} ms, ${beforeMs} ms before it, ${otherMs} ms after it`,
  );
});

/** Adds AVMasteringDisplayMetadata to a frame: a mastering display with wide primaries, a black of half a nit and this peak brightness. */
function describeDisplay(frame: Frame, nits: number): void {
  const data = frame.newSideData(AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, 10 * 8 + 2 * 4);
  const chromaticities = [34_000, 16_000, 13_250, 34_500, 7500, 3000, 15_635, 16_450].map((each) => [each, 50_000]);
  const rationals = [...chromaticities, [1, 2], [nits, 1]];
  for (const [at, value] of [...rationals.flat(), 1, 1].entries()) data.writeInt32LE(value, 4 * at);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
