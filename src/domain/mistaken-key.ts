/**
 * Recognises what people enter where the stream key belongs: the key with something around it, or another of the service's keys and ids.
 */
import { isPlaybackId, isUuid, type PlaybackId } from './ids.ts';
import { Secret } from './secret.ts';

/** What a text that is not a stream key may stand for. Whether such a key, playback id or id exists must still be looked up. */
export type MistakenKey =
  | { readonly type: 'stream_key'; readonly streamKey: Secret }
  | { readonly type: 'playback_id'; readonly playbackId: PlaybackId }
  | { readonly type: 'id'; readonly id: string }
  | { readonly type: 'api_key'; readonly apiKey: Secret };

/** The longest text that is examined. */
const MAX_LENGTH = 512;
/** The most readings of one text, each of which costs a lookup. */
const MAX_READINGS = 4;

const WORD = /[A-Za-z0-9_-]+/g;
const STREAM_KEY = /^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/;
const API_KEY = /^millrace_[A-Za-z0-9_-]{43}$/;

/**
 * Everything in a text that has the form of a key or an id, in the order of the text. What is around it does not matter (the rest of a URL,
 * quotes, blanks), and neither does the letter case of stream keys and ids.
 */
export function readingsOf(text: string): readonly MistakenKey[] {
  const words = text.slice(0, MAX_LENGTH).match(WORD) ?? [];
  return words.flatMap((word) => readingOf(word) ?? []).slice(0, MAX_READINGS);
}

function readingOf(word: string): MistakenKey | undefined {
  if (API_KEY.test(word)) return { type: 'api_key', apiKey: new Secret(word) };
  const lower = word.toLowerCase();
  if (STREAM_KEY.test(lower)) return { type: 'stream_key', streamKey: new Secret(lower) };
  if (isUuid(lower)) return { type: 'id', id: lower };
  return isPlaybackId(lower) ? { type: 'playback_id', playbackId: lower } : undefined;
}
