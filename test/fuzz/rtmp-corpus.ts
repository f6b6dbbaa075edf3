/**
 * RTMP messages from which the corpora of several targets are made.
 */
import { encodeAmf0 } from '#media/rtmp/amf0.ts';
import { AUDIO_TAGS, METADATA, VIDEO_TAGS } from './recorded.ts';

const KEY = 'good-0000-0000-0key';

/** The commands that encoders send before their media, and some that few of them send. */
export const COMMANDS: readonly Buffer[] = [
  encodeAmf0(
    'connect',
    1,
    new Map([
      ['app', 'live'],
      ['flashVer', 'FMLE/3.0'],
      ['tcUrl', 'rtmp://127.0.0.1/live'],
    ]),
  ),
  encodeAmf0('releaseStream', 2, null, KEY),
  encodeAmf0('FCPublish', 3, null, KEY),
  encodeAmf0('createStream', 4, null),
  encodeAmf0('publish', 5, null, KEY, 'live'),
  encodeAmf0('FCUnpublish', 6, null, KEY),
  encodeAmf0('deleteStream', 7, null, 1),
  encodeAmf0('play', 8, null, KEY),
];

/** Type markers of AMF0, the beginnings of nested values, and names that the server looks for. */
export const AMF_DICTIONARY: readonly (string | Uint8Array)[] = [
  Uint8Array.of(3),
  Uint8Array.of(0, 0, 9),
  Uint8Array.of(8, 0, 0, 0, 1),
  Uint8Array.of(10, 0, 0, 0, 1),
  Uint8Array.of(10, 0xff, 0xff, 0xff, 0xff),
  Uint8Array.of(11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
  Uint8Array.of(12, 0, 0, 0, 1),
  Uint8Array.of(16, 0, 0),
  Uint8Array.of(5),
  Uint8Array.of(13),
  '@setDataFrame',
  'onMetaData',
  'videocodecid',
  'audiocodecid',
  'framerate',
  'encoder',
  'publish',
  'connect',
];

/** Media messages, each with its type and its body. */
export const MEDIA_MESSAGES: readonly { readonly type: number; readonly body: Buffer }[] = [
  ...METADATA.map((body) => ({ type: 18, body })),
  ...VIDEO_TAGS.map((body) => ({ type: 9, body })),
  ...AUDIO_TAGS.map((body) => ({ type: 8, body })),
];
