/**
 * The readers of access units that ingest uses: a unit that is accepted must read the same when it is read again.
 */
import assert from 'node:assert/strict';
import { codecOf, packetSamples } from '#media/codecs.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { MalformedAccessUnitError } from '#media/malformed-access-unit.ts';
import type { Track } from '#media/track.ts';
import { CONFIGS, UNITS } from '../recorded.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** 120 ms at 48 kHz (RFC 6716 §3.2.5). */
const MAX_OPUS_SAMPLES = 5760;

/** The reader of one codec. The first byte of an input chooses one of the recorded configurations. */
export function accessUnit(name: Track['codec']): Target {
  const codec = codecOf(name);
  const tracks = CONFIGS[name].map((config) => codec.parseConfig(config));
  const read = (track: Track, data: Buffer) => codec.accessUnitReader(track)(data);
  return {
    name: `${name}-unit`,
    corpus: UNITS[name].map((unit) => Buffer.concat([Buffer.of(0), unit])),
    dictionary: CONFIGS[name],
    expected: [MalformedAccessUnitError, InvalidCodecConfigError],
    open: () => ({
      read(input) {
        const track = tracks[(input[0] ?? 0) % tracks.length]!;
        const unit = read(track, input.subarray(1));
        must(unit.data.length < Math.max(1, input.length), () => 'a unit grows');
        const again = read(track, Buffer.from(unit.data));
        must(
          again.keyframe === unit.keyframe && again.empty === unit.empty,
          () => 'read again, the unit is of another kind',
        );
        assert.equal(Buffer.compare(again.data, unit.data), 0, 'read again, the unit has other bytes');
        const samples = track.kind === 'audio' ? packetSamples(track, unit.data) : 0;
        must(samples >= 0 && samples <= MAX_OPUS_SAMPLES, () => `a packet of ${samples} samples`);
        return behaviour(Number(unit.keyframe), Number(unit.empty), magnitude(unit.data.length), samples);
      },
    }),
  };
}
