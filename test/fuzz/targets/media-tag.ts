/**
 * The bodies of audio and video messages, plain and extended. Reading them throws nothing at all.
 */
import { readFlvTag } from '#ingest/rtmp/flv-tag.ts';
import { ENHANCED_AUDIO, ENHANCED_DICTIONARY, ENHANCED_VIDEO } from '../enhanced-corpus.ts';
import { AUDIO_TAGS, VIDEO_TAGS } from '../recorded.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** Before each body, what it is of: odd is audio. */
const VIDEO = Buffer.of(0);
const AUDIO = Buffer.of(1);
/** 24 bits, signed. */
const MAX_COMPOSITION_MS = 0x800000;

const behind = (kind: Buffer, bodies: readonly Buffer[]) => bodies.map((body) => Buffer.concat([kind, body]));

/** FLV tags as FFmpeg writes them. */
export const flvTagTarget = mediaTag('flv-tag', [...behind(VIDEO, VIDEO_TAGS), ...behind(AUDIO, AUDIO_TAGS)]);
/** Tags of Enhanced RTMP. */
export const enhancedTagTarget = mediaTag('enhanced-tag', [
  ...behind(VIDEO, ENHANCED_VIDEO),
  ...behind(AUDIO, ENHANCED_AUDIO),
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
