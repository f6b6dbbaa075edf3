/**
 * Encodes with ffmpeg as a publisher does, and reads tracks and packets from its FLV output.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ticks } from '#lib/units.ts';
import { codecOf } from '#media/codecs.ts';
import type { FragmentSample } from '#media/mp4/fragment.ts';
import type { Track } from '#media/track.ts';

/** A track and its samples, with times in the track's ticks. */
export interface Encoded {
  readonly track: Track;
  readonly samples: readonly FragmentSample[];
}

/**
 * Runs ffmpeg, and reads one track of its output.
 * @param args arguments from the inputs to the encoders, without the output
 */
export async function encode(codec: Track['codec'], args: readonly string[]): Promise<Encoded> {
  const { stdout } = await promisify(execFile)('ffmpeg', ['-v', 'error', ...args, '-f', 'flv', '-'], {
    encoding: 'buffer',
    maxBuffer: 64 * 1024 * 1024,
  });
  const tags = [...flvTags(stdout)].filter((tag) => tag.codec === codec);
  const track = codecOf(codec).parseConfig(tags.find(({ sequenceHeader }) => sequenceHeader)!.data);
  const packets = tags.filter(({ sequenceHeader, data }) => !sequenceHeader && data.length > 0);
  const toTicks = (milliseconds: number) => Math.round((milliseconds * track.timescale) / 1000);
  // Milliseconds, as FLV has them, are too coarse for audio, whose packets follow one another without a gap.
  const dtsOf = (index: number) =>
    track.kind === 'audio' ? index * track.samplesPerPacket : toTicks(packets[index]!.dtsMs);
  const last = packets.length - 1;
  const samples = packets.map(({ dtsMs, ptsMs, keyframe, data }, index): FragmentSample => {
    const dts = dtsOf(index);
    const durationTicks = index < last ? dtsOf(index + 1) - dts : dts - dtsOf(index - 1);
    return { dts: ticks(dts), pts: ticks(dts + toTicks(ptsMs - dtsMs)), durationTicks, keyframe, data };
  });
  return { track, samples };
}

interface FlvTag {
  readonly codec: Track['codec'];
  readonly sequenceHeader: boolean;
  readonly keyframe: boolean;
  readonly dtsMs: number;
  readonly ptsMs: number;
  readonly data: Uint8Array;
}

const FLV_HEADER_BYTES = 9 + 4;
const TAG_HEADER_BYTES = 11;

function* flvTags(flv: Buffer): Generator<FlvTag> {
  for (let at = FLV_HEADER_BYTES; at + TAG_HEADER_BYTES <= flv.length; ) {
    const size = flv.readUIntBE(at + 1, 3);
    const dtsMs = flv.readUIntBE(at + 4, 3);
    const body = flv.subarray(at + TAG_HEADER_BYTES, at + TAG_HEADER_BYTES + size);
    const type = flv[at];
    if (type === 9) {
      const ptsMs = dtsMs + body.readIntBE(2, 3);
      const [first, packetType] = [body[0]!, body[1]!];
      if (packetType < 2) {
        const keyframe = first >> 4 === 1;
        yield { codec: 'h264', sequenceHeader: packetType === 0, keyframe, dtsMs, ptsMs, data: body.subarray(5) };
      }
    } else if (type === 8) {
      const data = body.subarray(2);
      yield { codec: 'aac', sequenceHeader: body[1] === 0, keyframe: true, dtsMs, ptsMs: dtsMs, data };
    }
    at += TAG_HEADER_BYTES + size + 4;
  }
}
