/**
 * Finds, in the sample entry of a video track, what its keyframes must begin with where configurations change inside a file.
 */
import { avcSetsInBand } from '#media/codecs/h264.ts';
import { hevcSetsInBand } from '#media/codecs/h265.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { BoxReader } from './box-reader.ts';
import { MalformedMp4Error } from './malformed-mp4.ts';

/** The fields of a video sample entry before its boxes. */
const VIDEO_FIELDS_BYTES = 78;

/** The type of a sample entry, which names its codec: `avc1`. */
export const sampleEntryType = (entry: Uint8Array): string => Buffer.from(entry.subarray(4, 8)).toString('latin1');

/**
 * The configuration in a sample entry as bytes that an access unit can begin with. Empty for codecs whose keyframes always have it, and for
 * audio, which cannot.
 * @throws {MalformedMp4Error} when the entry is not one that this server writes
 */
export function inBandConfiguration(sampleEntry: Uint8Array): Uint8Array {
  const type = sampleEntryType(sampleEntry);
  if (type !== 'avc1' && type !== 'hvc1') return new Uint8Array();
  const { content } = new BoxReader(sampleEntry).box();
  content.skip(VIDEO_FIELDS_BYTES);
  const configuration = content.box(type === 'avc1' ? 'avcC' : 'hvcC').bytes.subarray(8);
  try {
    return type === 'avc1' ? avcSetsInBand(configuration) : hevcSetsInBand(configuration);
  } catch (error) {
    if (!(error instanceof InvalidCodecConfigError)) throw error;
    throw new MalformedMp4Error(`The configuration in ${type} is broken.`);
  }
}
