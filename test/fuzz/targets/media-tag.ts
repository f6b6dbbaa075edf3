/**
 * The bodies of audio and video messages, plain and extended. Reading them must never throw.
 */
import { readFlvTag } from '#media/rtmp/flv-tag.ts';
import { ENHANCED_AUDIO, ENHANCED_DICTIONARY, ENHANCED_VIDEO } from '../enhanced-corpus.ts';
import { AUDIO_TAGS, VIDEO_TAGS } from '../recorded.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** The first byte of an input says what its body is: even means video, odd means audio. */
const VIDEO = Buffer.of(0);
const AUDIO = Buffer.of(1);
/** The largest composition time: it has 24 bits with a sign. */
const MAX_COMPOSITION_MS = 0x800000;

const ofKind = (kind: Buffer, bodies: readonly Buffer[]) => bodies.map((body) => Buffer.concat([kind, body]));

/** FLV tags as FFmpeg writes them. */
export const flvTagTarget = mediaTag('flv-tag', [...ofKind(VIDEO, VIDEO_TAGS), ...ofKind(AUDIO, AUDIO_TAGS)]);
/** Tags of Enhanced RTMP. */
export const enhancedTagTarget = mediaTag('enhanced-tag', [
  ...ofKind(VIDEO, ENHANCED_VIDEO),
  ...ofKind(AUDIO, ENHANCED_AUDIO),
]);

function mediaTag(name: string, corpus: readonly Buffer[]): Target {
  return {
    name,
    corpus,
    dictionary: ENHANCED_DICTIONARY,
    open: () => ({
      read(input) {
        const kind = ((input[0] ?? 0) & 1) === 0 ? 'video' : 'audio';
        const tag = readFlvTag(kind, input.subarray(1));
        if (tag.type !== 'config' && tag.type !== 'frame') return behaviour(tag.type.length);
        must(tag.data.length > 0 && tag.data.length < input.length, () => `${tag.data.length} bytes of media`);
        if (tag.type === 'config') return behaviour(1, tag.codec.charCodeAt(0), magnitude(tag.data.length));
        const { codec, offsetMs, compositionMs, data } = tag;
        must(offsetMs >= 0 && offsetMs <= 1, () => `an offset of ${offsetMs} ms`);
        must(Math.abs(compositionMs) <= MAX_COMPOSITION_MS, () => `a composition time of ${compositionMs} ms`);
        return behaviour(2, codec.charCodeAt(0), magnitude(data.length), Math.sign(compositionMs), Math.sign(offsetMs));
      },
    }),
  };
}
