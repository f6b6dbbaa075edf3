import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AudioTrack } from '#media/track.ts';
import { VIDEO_TRACK } from '#test/support/tracks.ts';
import { BitrateMeter } from './bitrate-meter.ts';

const AUDIO: AudioTrack = {
  kind: 'audio',
  codec: 'aac',
  timescale: 48_000,
  config: new Uint8Array([0x11, 0x90]),
  codecString: 'mp4a.40.2',
  sampleRate: 48_000,
  channels: 2,
  samplesPerPacket: 1024,
};

const declared = (averageBps: number | undefined, peakBps?: number) => ({ averageBps, peakBps });

describe('bitrates', () => {
  test('are the declared bitrate with headroom until ten seconds were measured', () => {
    const meter = new BitrateMeter(4);
    for (let count = 0; count < 4; count += 1) meter.add(50_000, 2);
    assert.deepEqual(meter.rates(AUDIO, declared(100_000), undefined), { peakBps: 130_000, averageBps: 105_000 });
    meter.add(50_000, 2);
    assert.deepEqual(meter.rates(AUDIO, declared(100_000), undefined), { peakBps: 200_000, averageBps: 200_000 });
  });

  test('have the peak that the encoder is limited to, however low the measured bitrate is', () => {
    const meter = new BitrateMeter(4);
    assert.equal(meter.rates(AUDIO, declared(100_000, 150_000), undefined).peakBps, 157_500);
    for (let count = 0; count < 10; count += 1) meter.add(20_000, 2);
    assert.deepEqual(meter.rates(AUDIO, declared(100_000, 150_000), undefined), {
      peakBps: 157_500,
      averageBps: 80_000,
    });
  });

  test('are estimated when nothing was declared', () => {
    assert.equal(new BitrateMeter(4).rates(AUDIO, declared(undefined), undefined).averageBps, 134_400);
    const estimate = (declaredFrameRate: number | undefined, shown?: number) =>
      new BitrateMeter(4).rates({ ...VIDEO_TRACK, declaredFrameRate }, declared(undefined), shown).averageBps;
    assert.equal(estimate(60), 2 * estimate(undefined), 'with the declared frame rate');
    assert.equal(estimate(1), estimate(undefined), 'with a declared frame rate that is too low');
    assert.equal(estimate(60, 30), estimate(undefined), 'with the frame rate that the frames show');
  });

  test('have the highest rate of any run of half to one and a half target durations as their peak', () => {
    const meter = new BitrateMeter(4);
    for (let count = 0; count < 10; count += 1) meter.add(100_000, 2);
    // This segment is too short to be a run by itself, so it is counted with its neighbours.
    meter.add(200_000, 0.5);
    const { peakBps, averageBps } = meter.rates(AUDIO, declared(undefined), undefined);
    assert.equal(peakBps, (300_000 * 8) / 2.5);
    assert.equal(averageBps, Math.ceil((1_200_000 * 8) / 20.5));
  });
});
