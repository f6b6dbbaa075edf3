import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packetSamples } from '#media/codecs.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import { serialize } from '#media/mp4/box.ts';
import { opusSampleEntry, opusSamples, parseOpusHead } from './opus.ts';

const invalid = { code: 'invalid_codec_config' };
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

/** Recorded from libopus 1.3: 'OpusHead', version, channels, pre-skip, rate, gain, mapping. */
const STEREO = '4f70757348656164 01 02 3801 80bb0000 0000 00';
const MONO = '4f70757348656164 01 01 3801 80bb0000 0000 00';
const SURROUND = '4f70757348656164 01 06 3801 80bb0000 0000 01 04 02 000401020305';

describe('an Opus header', () => {
  it('gives a track at 48 kHz, whatever the rate of its source', () => {
    for (const [head, channels] of [
      [STEREO, 2],
      [MONO, 1],
      [SURROUND, 6],
      [STEREO.replace('80bb0000', '44ac0000'), 2],
    ] as const) {
      const track = parseOpusHead(bytes(head));
      assert.deepEqual([track.timescale, track.sampleRate, track.channels], [48_000, 48_000, channels]);
      assert.deepEqual(track.config, bytes(head));
    }
  });

  it('with an unknown channel mapping, of another version, truncated or far too long is refused', () => {
    for (const broken of [
      STEREO.replace('01 02', '10 02'),
      STEREO.replace('01 02', '01 00'),
      STEREO.replace('01 02', '01 03'),
      STEREO.replace(/00$/, 'ff'),
      SURROUND.replace(/05$/, ''),
      STEREO.replace('4f', '4e'),
      '',
      STEREO + '00'.repeat(1000),
    ]) {
      assert.throws(() => parseOpusHead(bytes(broken)), invalid, broken);
    }
  });

  it('of any bytes gives a track or is refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 16 }), (tail) => {
        try {
          const { channels } = parseOpusHead(Buffer.concat([Buffer.from('OpusHead\x01'), tail]));
          assert.ok(channels >= 1 && channels <= 8);
        } catch (error) {
          assert.ok(error instanceof InvalidCodecConfigError, String(error));
        }
      }),
    );
  });
});

describe('an Opus packet', () => {
  it('lasts as long as its first bytes state', () => {
    const cases: readonly [packet: string, milliseconds: number][] = [
      ['00', 10], // SILK
      ['18', 60],
      ['60', 10], // hybrid
      ['68', 20],
      ['80', 2.5], // CELT
      ['fc', 20],
      ['fd', 40], // two frames of one size
      ['fe 10', 40], // of two sizes
      ['ff 03', 60], // as many as it states, also with padding
      ['ff c6', 120],
      ['83 30', 120],
    ];
    for (const [packet, milliseconds] of cases) assert.equal(opusSamples(bytes(packet)), milliseconds * 48, packet);
    assert.equal(packetSamples(parseOpusHead(bytes(STEREO)), bytes('80')), 120);
  });

  it('that is empty, contains no frame or lasts longer than 120 ms is refused', () => {
    for (const broken of ['', 'ff', 'ff 00', 'ff c7', '1b 03']) {
      assert.throws(() => opusSamples(bytes(broken)), MalformedAccessUnitError, broken);
    }
  });
});

describe('the Opus sample entry', () => {
  it('contains the header with its numbers in big-endian order', () => {
    for (const [head, body] of [
      [SURROUND, '0006 0138 0000bb80 0000 01 04 02 000401020305'],
      [`${STEREO} ff`, '0002 0138 0000bb80 0000 00'], // the box leaves out what a later minor version may add
    ] as const) {
      const entry = Buffer.from(serialize(opusSampleEntry(parseOpusHead(bytes(head)))));
      assert.deepEqual(entry.subarray(entry.indexOf('dOps') + 4), Buffer.from(bytes(body)));
    }
  });
});
