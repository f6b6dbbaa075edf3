/**
 * Copies the parameter sets out of sample entries, because keyframes must begin with them where the configuration changes inside a file.
 */
import { avcSetsInBand } from '#media/codecs/h264.ts';
import { hevcSetsInBand } from '#media/codecs/h265.ts';
import { VIDEO_FIELDS_BYTES } from '#media/codecs/video-sample-entry.ts';
import { InvalidCodecConfigError } from '#media/invalid-codec-config.ts';
import { BOX_HEADER_BYTES, BoxReader } from './box-reader.ts';
import { MalformedMp4Error } from './malformed-mp4.ts';

/** The type of a sample entry, which identifies the codec, such as `avc1`. */
export const sampleEntryType = (entry: Uint8Array): string => Buffer.from(entry.subarray(4, 8)).toString('latin1');

/**
 * The parameter sets of a sample entry, in the form in which an access unit can begin with them. Empty for codecs whose keyframes always
 * have them in the bitstream, and for audio, which has none.
 * @param sampleEntry a whole box
 * @throws {MalformedMp4Error} when the entry is not one that this server writes
 */
export function inBandConfiguration(sampleEntry: Uint8Array): Uint8Array {
  const type = sampleEntryType(sampleEntry);
  if (type !== 'avc1' && type !== 'hvc1') return new Uint8Array();
  const { content } = new BoxReader(sampleEntry).box();
  content.skip(VIDEO_FIELDS_BYTES);
  const configuration = content.box(type === 'avc1' ? 'avcC' : 'hvcC').bytes.subarray(BOX_HEADER_BYTES);
  try {
    return type === 'avc1' ? avcSetsInBand(configuration) : hevcSetsInBand(configuration);
  } catch (error) {
    if (!(error instanceof InvalidCodecConfigError)) throw error;
    throw new MalformedMp4Error(`The configuration in ${type} is broken.`);
  }
}
