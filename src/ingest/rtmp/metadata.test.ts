import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AmfValue } from '#media/rtmp/amf0.ts';
import { readMetadata } from './metadata.ts';

const read = (entries: Record<string, AmfValue>) =>
  readMetadata(['@setDataFrame', 'onMetaData', new Map(Object.entries(entries))]);
const announced = (entries: Record<string, AmfValue>) => read(entries)?.announcement;

describe('onMetaData', () => {
  it('announces the tracks whose codec it names, with their rates in bits per second', () => {
    assert.deepEqual(announced({ videocodecid: 7, videodatarate: 2500, audiocodecid: 10, audiodatarate: 160.5 }), {
      kinds: new Set(['video', 'audio']),
      videoBitrateBps: 2_500_000,
      audioBitrateBps: 160_500,
      encoder: undefined,
    });
  });

  it('names the encoder, without characters that cannot be printed', () => {
    const encoderOf = (encoder: AmfValue) => announced({ videocodecid: 7, encoder })?.encoder;
    const obs = 'obs-output module (libobs version 31.0.2)';
    assert.equal(encoderOf(obs), obs);
    assert.equal(encoderOf('\u0000 Lavf\n61\ud800 '), 'Lavf61');
    assert.equal(encoderOf('x'.repeat(1000))?.length, 256);
    for (const none of [7, '', '\n']) assert.equal(encoderOf(none), undefined);
  });

  it('may name codecs by name or FourCC, and may come without the wrapper', () => {
    assert.deepEqual(announced({ videocodecid: 'avc1' })?.kinds, new Set(['video']));
    assert.deepEqual(announced({ audiocodecid: 0x6d703461 })?.kinds, new Set(['audio']));
    const bare = readMetadata(['onMetaData', new Map([['audiocodecid', 10]])]);
    assert.deepEqual(bare?.announcement.kinds, new Set(['audio']));
  });

  it('states the frame rate', () => {
    assert.equal(read({ videocodecid: 7, framerate: 29.97 })?.videoFrameRate, 29.97);
  });

  it('has no rate when its value is not plausible', () => {
    for (const rate of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1000, '30', null]) {
      assert.equal(read({ videocodecid: 7, framerate: rate })?.videoFrameRate, undefined);
    }
    for (const rate of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12, '2500', null]) {
      assert.equal(announced({ videocodecid: 7, videodatarate: rate })?.videoBitrateBps, undefined);
    }
  });

  it('announces nothing when it names no codec, or is something else', () => {
    assert.equal(announced({ width: 1280, videocodecid: 0, audiocodecid: '' }), undefined);
    assert.equal(readMetadata(['onTextData', new Map([['videocodecid', 7]])]), undefined);
    assert.equal(readMetadata(['onMetaData', 7]), undefined);
    assert.equal(readMetadata([]), undefined);
  });

  it('ignores additional tracks', () => {
    const offer = new Map([['1', new Map([['videocodecid', 7]])]]);
    assert.equal(announced({ videoTrackIdInfoMap: offer, audioTrackIdInfoMap: offer }), undefined);
  });
});
