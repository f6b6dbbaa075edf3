/**
 * Recorded bytes from which the corpora of several targets are made.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Track } from '#media/track.ts';
import { fixtureTags } from '#test/support/flv-file.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures');
const AUDIO = 8;
const VIDEO = 9;
const DATA = 18;
const VIDEO_HEADER_BYTES = 5;
const AUDIO_HEADER_BYTES = 2;

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const recorded = (name: string): Buffer => readFileSync(join(FIXTURES, 'fuzz/recorded', `${name}.bin`));

const tags = fixtureTags();
const bodies = (type: number): Buffer[] => tags.filter((tag) => tag.type === type).map(({ body }) => body);
/** Shorter tags hold no media: the last tag of a file only says that the sequence ends. */
const LEAST_MEDIA_BYTES = 16;
/** The shortest tags, in which mutations hit headers more often than coefficients. */
const shortest = (list: readonly Buffer[], count: number): Buffer[] =>
  list
    .filter(({ length }) => length >= LEAST_MEDIA_BYTES)
    .toSorted((a, b) => a.length - b.length)
    .slice(0, count);

/** Bodies of video messages as FFmpeg makes them: the configuration first, then some frames. */
export const VIDEO_TAGS: readonly Buffer[] = [bodies(VIDEO)[0]!, ...shortest(bodies(VIDEO), 4)];
/** Bodies of audio messages as FFmpeg makes them: the configuration first, then some packets. */
export const AUDIO_TAGS: readonly Buffer[] = [bodies(AUDIO)[0]!, ...shortest(bodies(AUDIO), 3)];
/** Bodies of `onMetaData` messages, in AMF0. */
export const METADATA: readonly Buffer[] = bodies(DATA);

/** Everything that OBS Studio sends after the handshake, one element for each message. */
export const OBS_MESSAGES: readonly Buffer[] = readFileSync(join(FIXTURES, 'rtmp/obs-publish.hex'), 'utf8')
  .split(/^#.*$/m)
  .map((text) => hex(text.replaceAll(/\s/g, '')))
  .filter((message) => message.length > 0);

/** Decoder configuration records of real encoders. */
export const CONFIGS: Readonly<Record<Track['codec'], readonly Buffer[]>> = {
  h264: [
    '0164001fffe1001a6764001facd9405005bb0110000003001000000303c0f183196001000668ebe3cb22c0fdf8f800',
    '01640028ffe1001967640028acd940780227e5c04400000fa40003a9803c60c65801000668ebe3cb22c0fdf8f800',
    '0142c020ffe100166742c020da014016ec04400000fa4000753003c60ca801000468ce0fc8',
    '01f4001effe1001a67f4001e919680d83de36f011000000300100000030300f162ea01000568ce0f1920fff8f800',
  ].map(hex),
  h265: [
    '0101600000009000000000003ff000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003003f959809a10001002e42010101600000030090000003000003003fa00502016965959a4932bffc000c0011a020000003002000000303c1a2000100074401c172b46240',
    '0102200000009000000000003cf000fcfdfafa00000f03a00001001840010c01ffff02200000030090000003000003003c959809a10001003142010102200000030090000003000003003ca00a080b9f6d96566924cafff000300046a122012080000003008000000c84a2000100074401c172b46240',
    '0101600000009000000000005af000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003005a959809a10001003242010101600000030090000003000003005aa005a20090596566924cafff040002a36a02020208000003000800000300c840a2000100074401c172b46240',
  ].map(hex),
  av1: [
    '81010c000a0b0000000cc4ff6700be0010',
    '81004c000a0e000000043cfecc02f85091209040',
    '814068000a0b400000043cfeccdaf96220',
    '811f0c000a0e000000fa1e7f66210a88080808a0',
  ].map(hex),
  aac: ['1210', '139056e5a0', '2b118800', '118004c844002000c40d4c61766335392e33372e31303056e500'].map(hex),
  opus: ['4f707573486561640102380180bb0000000000', '4f7075734865616401060000803e00000000010402000401020305'].map(hex),
};

/** Access units of real encoders; for each video codec the first one is a keyframe. */
export const UNITS: Readonly<Record<Track['codec'], readonly Buffer[]>> = {
  h264: VIDEO_TAGS.slice(1).map((tag) => tag.subarray(VIDEO_HEADER_BYTES)),
  h265: [recorded('h265-keyframe'), recorded('h265-frame')],
  av1: [recorded('av1-keyframe'), recorded('av1-frame')],
  aac: AUDIO_TAGS.slice(1).map((tag) => tag.subarray(AUDIO_HEADER_BYTES)),
  opus: [recorded('opus-packet')],
};
