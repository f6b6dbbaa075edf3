import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks } from '#lib/units.ts';
import { initSegment } from '#media/mp4/init-segment.ts';
import { decode } from '#test/support/decode.ts';
import { wholeFragment } from '#test/support/whole-fragment.ts';
import { parseAudioSpecificConfig } from './aac.ts';
import { silentFrame } from './aac-silence.ts';

/** The configuration of AAC-LC at 48 kHz with a channelConfiguration. */
const configOf = (channelConfiguration: number) => Buffer.of(0x11, 0x80 | (channelConfiguration << 3)) as Uint8Array;

for (const [channelConfiguration, channels] of [
  [1, 1],
  [2, 2],
  [3, 3],
  [4, 4],
  [5, 5],
  [6, 6],
  [7, 8],
] as const) {
  test(`a second of silent frames with ${channels} channels is decoded without a complaint, into silence`, async () => {
    const track = parseAudioSpecificConfig(configOf(channelConfiguration));
    const samples = Array.from({ length: 47 }, (_, index) => {
      const at = ticks(index * 1024);
      return { dts: at, pts: at, durationTicks: 1024, keyframe: true, data: silentFrame(track) };
    });
    const { audio, complaints } = await decode([initSegment(track), wholeFragment(track, 1, samples)]);
    assert.deepEqual(complaints, []);
    assert.deepEqual([audio?.channels, audio?.sampleRate, audio?.beepsS], [channels, 48_000, []]);
    assert.ok(Math.abs(audio!.endS - 47 * (1024 / 48_000)) < 0.03);
  });
}

test('a silent stereo frame is small, and made once', () => {
  const track = parseAudioSpecificConfig(configOf(2));
  assert.ok(silentFrame(track).length < 10);
  assert.equal(silentFrame(track), silentFrame(track));
});
