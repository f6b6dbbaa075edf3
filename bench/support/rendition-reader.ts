/**
 * Reads one media playlist as a low-latency player does: with blocking reloads and delta updates, and every part as soon as it appears.
 */
import { gunzipSync } from 'node:zlib';
import { type MediaPlaylist, readMediaPlaylist } from '../../test/support/hls-playlist.ts';
import { LeanConnection, type LeanResponse } from './lean-http.ts';
import { wallMs } from './stamped-media.ts';

/** A part, and when it was received. */
export interface ReceivedPart {
  readonly name: string;
  readonly body: Buffer;
  /** When the playlist that lists it had been received completely. */
  readonly listedAtMs: number;
  /** When the part itself had been received completely. */
  readonly receivedAtMs: number;
}

/**
 * Every part from the newest listed one on.
 * @param url of the media playlist
 * @param options.localAddress the loopback address the reader comes from
 */
export async function* readParts(
  url: URL,
  { signal, localAddress = '127.0.0.1' }: { readonly signal: AbortSignal; readonly localAddress?: string },
): AsyncGenerator<ReceivedPart> {
  using connection = await LeanConnection.open(Number(url.port), { localAddress, tls: url.protocol === 'https:' });
  signal.addEventListener('abort', () => connection[Symbol.dispose](), { once: true });
  const get = async (path: string): Promise<LeanResponse> => {
    const response = await connection.get(path, { 'accept-encoding': 'gzip' });
    if (response.status !== 200) throw new Error(`${path} gave ${response.status}: ${response.body.toString()}`);
    return response;
  };
  // Without directives the answer would wait for a complete segment.
  const first = `${url.pathname}?_HLS_msn=0&_HLS_part=0`;
  let tip = readTip(readMediaPlaylist(textOf(await get(first))));
  const seen = new Set(tip.parts.slice(0, -1));
  for (;;) {
    const listedAtMs = wallMs();
    for (const name of tip.parts.filter((each) => !seen.has(each))) {
      seen.add(name);
      const { body } = await get(new URL(name, url).pathname);
      yield { name, body, listedAtMs, receivedAtMs: wallMs() };
    }
    if (tip.ended) return;
    const path = `${url.pathname}?_HLS_msn=${tip.nextMsn}&_HLS_part=${tip.nextPart}&_HLS_skip=YES`;
    tip = tipOf(path, await get(path));
  }
}

/** The end of a playlist. */
interface Tip {
  /** The last parts it lists, oldest first: enough that a reader keeping up misses none. */
  readonly parts: readonly string[];
  readonly nextMsn: number;
  readonly nextPart: number;
  readonly ended: boolean;
}

/** Many readers request the same playlist, so each answer is parsed once. The cache is bounded, because readers need only the newest. */
const tips = new Map<string, Tip>();
const KEPT_TIPS = 64;

function tipOf(path: string, response: LeanResponse): Tip {
  const known = tips.get(path);
  if (known !== undefined) return known;
  const tip = readTip(readMediaPlaylist(textOf(response)));
  tips.set(path, tip);
  if (tips.size > KEPT_TIPS) tips.delete(tips.keys().next().value!);
  return tip;
}

function textOf({ body, header }: LeanResponse): string {
  return (header('content-encoding') === 'gzip' ? gunzipSync(body) : body).toString();
}

function readTip({ segments, ended }: MediaPlaylist): Tip {
  const last = segments.at(-1)!;
  const isOpen = last.uri === undefined;
  // A gap has nothing to load.
  const parts = segments.slice(-2).flatMap((segment) => segment.parts.flatMap(({ uri, gap }) => (gap ? [] : uri)));
  return { parts, ended, nextMsn: isOpen ? last.msn : last.msn + 1, nextPart: isOpen ? last.parts.length : 0 };
}

/** The URLs of the media playlists that a multivariant playlist names: the first variant's video and audio. */
export async function renditionUrls(playlistUrl: string): Promise<{ readonly video: URL; readonly audio: URL }> {
  const response = await fetch(playlistUrl);
  const text = await response.text();
  const { video, audio } = playlistNames(text);
  if (video === undefined || audio === undefined) throw new Error(`${playlistUrl} gave ${response.status}: ${text}`);
  return { video: new URL(video, playlistUrl), audio: new URL(audio, playlistUrl) };
}

/** The names of those media playlists as they stand in the multivariant playlist; undefined where it names none. */
export function playlistNames(multivariant: string): {
  readonly video: string | undefined;
  readonly audio: string | undefined;
} {
  const video = /^[^#\n].*$/m.exec(multivariant)?.[0];
  const audio = /^#EXT-X-MEDIA:TYPE=AUDIO.*URI="([^"]+)"/m.exec(multivariant)?.[1];
  return { video, audio };
}
