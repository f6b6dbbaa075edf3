import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { silentFrame } from './aac-silence.ts';
import { isSilentAac } from './aac-silence-detector.ts';

test('silence is recognised as encoders write it', () => {
  for (const [encoder, hex] of Object.entries({
    'FFmpeg, stereo, the first frame': 'de02004c61766335392e33372e31303000422008c11838',
    'FFmpeg, stereo': '211004608c1c',
    'FFmpeg, mono': '01182007',
    'FFmpeg, 5.1': '011820010880230460231004608c0c230000e0',
    'VisualOn, stereo, padded to its bitrate': '21100520a41bffc' + '0'.repeat(537) + '3795' + '0'.repeat(112) + '70',
  })) {
    assert.equal(isSilentAac(Buffer.from(hex, 'hex')), true, encoder);
  }
});

test('audio is not silence, however quiet', () => {
  for (const hex of [
    // White noise of a thousandth of the full scale, mono, and a sine wave, both by FFmpeg: the first bytes are enough.
    '0118381096682a31a0851af8faf7cbfc7e952a7e529aabca3549978d52950a9b82e182018d6d8c236235a59a4124bd3a4c0538831caa8ef59fe5d5d2',
    '00ea382eb0263ab848ddffaedff7fd673eb53fc77af9f8cdfebfb66eb172ab9cba4a189977b0ee80c22bfe849fc0f5f4042573f23d6fd4774e1ef126',
  ]) {
    assert.equal(isSilentAac(Buffer.from(hex, 'hex')), false, hex);
  }
});

test('the silence that fills gaps is recognised', () => {
  for (const channels of [1, 2, 6]) {
    const frame = silentFrame({ codecString: 'mp4a.40.2', channels });
    assert.ok(frame !== undefined && isSilentAac(frame), `${channels} channels`);
  }
});

test('any bytes are recognised as silence or not, without an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (frame) => {
      assert.equal(typeof isSilentAac(frame), 'boolean');
    }),
    { numRuns: 2000 },
  );
  assert.equal(isSilentAac(new Uint8Array()), false);
  assert.equal(isSilentAac(new Uint8Array(400)), false, 'elements without end');
  assert.equal(isSilentAac(Uint8Array.of(0xe0)), false, 'no channel at all');
});
