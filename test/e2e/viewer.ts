/**
 * A low-latency HLS player without a decoder. It reloads every media playlist with blocking requests, loads everything that they list, and
 * keeps all answers, so that a test can judge a live run afterwards.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type MediaPlaylist, readAttributes, readMediaPlaylist } from '../support/hls-playlist.ts';
import type { Reload } from '../support/hls-rules.ts';
import { waitFor } from '../support/wait-for.ts';

/** An answer as it was received. */
export interface Answer {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** When the last byte was received, in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** Everything that the viewer got of one rendition. */
export interface Viewing {
  /** The absolute URL of the playlist, without directives. */
  readonly url: string;
  /** Each full playlist in the order it came, with the delta update of the same state where one came. */
  readonly reloads: readonly (Reload & { readonly atMs: number })[];
  /** Init segments, parts and segments by the URI the playlist gave them. */
  readonly media: ReadonlyMap<string, Answer>;
}

/** Everything that the viewer got of a presentation. */
export interface Watched {
  /** Each answer of `index.m3u8`; the first one is what a player starts with. */
  readonly multivariant: readonly Answer[];
  /** By the URI in the multivariant playlist. */
  readonly renditions: ReadonlyMap<string, Viewing>;
  /** All media playlists, several times. */
  readonly moments: readonly Moment[];
  /** Answers that were not 200, and requests that failed. */
  readonly failures: readonly string[];
}

/** All media playlists, loaded twice, one time after the other. */
export interface Moment {
  readonly before: ReadonlyMap<string, string>;
  readonly after: ReadonlyMap<string, string>;
}

/** The longest wait for renditions: a transcoder may have to start first, on a machine that is busy. */
const START_LIMIT_MS = 60_000;
/** How often all media playlists are loaded at once. */
const MOMENT_EVERY_MS = 700;

/** A viewer that is watching. */
export interface Watching {
  /** Requests that have no answer yet. */
  readonly outstanding: number;
  /** The last media playlist of each rendition, by the URI in the multivariant playlist; empty before the viewer has started. */
  readonly newest: ReadonlyMap<string, MediaPlaylist>;
  /** How many playlists of each rendition have come by now, by the same URI. */
  readonly reloads: ReadonlyMap<string, number>;
  /** Whether a playlist of every rendition has come. */
  readonly hasAll: boolean;
  /** Loads all media playlists at once, twice, for {@link Watched.moments}. Call it when the viewer has all renditions. */
  takeMoment(): Promise<void>;
  /** Resolves at EXT-X-ENDLIST, or when the signal aborts. Rejects when the signal is a timeout, because the end was not seen. */
  readonly watched: Promise<Watched>;
}

/** How to watch. */
export interface WatchOptions {
  readonly signal: AbortSignal;
  /** How often moments are taken by themselves, in milliseconds, or `on_request`. */
  readonly momentEveryMs?: number | 'on_request';
  /** How many variants the multivariant playlist must name before the viewer starts. */
  readonly variants?: number;
}

/** A playlist is requested many times, and compressing it would cost more CPU time than the rest of the request. */
const UNCOMPRESSED = { 'accept-encoding': 'identity' };

/** Requests a URL, and returns the answer whatever its status is. */
export async function get(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const body = Buffer.from(await response.arrayBuffer());
  return { url, status: response.status, headers: response.headers, body, atMs: Date.now() };
}

/** Waits until the multivariant playlist names this many variants. It waits for renditions for a few seconds only; a busy machine takes longer. */
export async function variantsListed(indexUrl: string, count: number): Promise<void> {
  const areListed = async () => (await get(indexUrl)).body.toString().split('#EXT-X-STREAM-INF').length > count;
  await waitFor(areListed, { what: `${count} variants` });
}

/** The URIs of the media playlists a multivariant playlist names. */
export function mediaPlaylistUris(multivariant: string): readonly string[] {
  return multivariant.split('\n').flatMap((line) => {
    if (line.startsWith('#EXT-X-MEDIA:')) return readAttributes(line).get('URI') ?? [];
    return line === '' || line.startsWith('#') ? [] : line;
  });
}

/** Whether players without low latency can start: every media playlist has a whole segment. */
export async function everyRenditionHasSegment(url: string): Promise<boolean> {
  const index = await get(url);
  if (index.status !== 200) return false;
  const playlists = await Promise.all(
    mediaPlaylistUris(index.body.toString()).map((uri) => get(new URL(uri, url).href)),
  );
  return playlists.every(({ body }) => body.includes('#EXTINF'));
}

/** The directives of a player's next request: for the part after the last one listed. */
export function nextDirectives({ segments }: MediaPlaylist): string {
  const last = segments.at(-1)!;
  return last.uri === undefined
    ? `_HLS_msn=${last.msn}&_HLS_part=${last.parts.length}`
    : `_HLS_msn=${last.msn + 1}&_HLS_part=0`;
}

/** Watches until EXT-X-ENDLIST, or until the signal aborts. */
export const watch = (indexUrl: string, options: WatchOptions): Promise<Watched> =>
  startWatching(indexUrl, options).watched;

/** Starts to watch. */
export function startWatching(indexUrl: string, options: WatchOptions): Watching {
  const newest = new Map<string, MediaPlaylist>();
  let outstanding = 0;
  const request = async (url: string) => {
    outstanding += 1;
    try {
      return await get(url, { signal: options.signal, headers: UNCOMPRESSED });
    } finally {
      outstanding -= 1;
    }
  };
  const reloads = new Map<string, number>();
  const onReload = (uri: string, playlist: MediaPlaylist) => {
    newest.set(uri, playlist);
    reloads.set(uri, (reloads.get(uri) ?? 0) + 1);
  };
  let taking: (() => Promise<void>) | undefined;
  let uris: readonly string[] = [];
  const onStart = (all: readonly string[], takeMoment: () => Promise<void>) => {
    uris = all;
    taking = takeMoment;
  };
  const watched = watchAll(indexUrl, options, { request, onReload, onStart });
  return {
    get outstanding() {
      return outstanding;
    },
    newest,
    get reloads() {
      return new Map(reloads);
    },
    get hasAll() {
      return uris.length > 0 && newest.size === uris.length;
    },
    takeMoment: async () => {
      if (taking === undefined) throw new Error('the viewer has not started');
      await taking();
    },
    watched,
  };
}

interface Hooks {
  readonly request: (url: string) => Promise<Answer>;
  readonly onReload: (uri: string, playlist: MediaPlaylist) => void;
  /** Called with the URIs of all media playlists. */
  readonly onStart: (uris: readonly string[], takeMoment: () => Promise<void>) => void;
}

async function watchAll(
  indexUrl: string,
  { signal, momentEveryMs = MOMENT_EVERY_MS, variants = 1 }: WatchOptions,
  { request, onReload, onStart }: Hooks,
): Promise<Watched> {
  const failures: string[] = [];
  const load = async (url: string): Promise<Answer | undefined> => {
    try {
      const answer = await request(url);
      if (answer.status === 200) return answer;
      failures.push(`${answer.status} ${new URL(url).pathname}${new URL(url).search}: ${answer.body.toString()}`);
    } catch (error) {
      if (!signal.aborted) failures.push(`${String(error)} ${new URL(url).pathname}`);
    }
    return undefined;
  };
  const isComplete = ({ status, body }: Answer) =>
    status === 200 && body.toString().split('#EXT-X-STREAM-INF').length > variants;
  const first = await waitFor(() => request(indexUrl).then((answer) => isComplete(answer) && answer), {
    what: `${variants} variants`,
    timeoutMs: START_LIMIT_MS,
  });
  const multivariant = [first];
  const moments: Moment[] = [];
  const uris = mediaPlaylistUris(first.body.toString());
  const ended = new AbortController();

  const loadAll = async () => {
    // A request without directives waits for complete segments while a session begins, and renditions may differ by one segment.
    const answers = await Promise.all(uris.map((uri) => load(`${new URL(uri, indexUrl).href}?_HLS_msn=0&_HLS_part=0`)));
    if (answers.some((answer) => answer === undefined)) return undefined;
    return new Map(uris.map((uri, index) => [uri, answers[index]!.body.toString()]));
  };
  const takeMoment = async () => {
    const [before, after] = [await loadAll(), await loadAll()];
    if (before !== undefined && after !== undefined) moments.push({ before, after });
    const again = await load(indexUrl);
    if (again !== undefined) multivariant.push(again);
  };
  const takeMoments = async () => {
    while (momentEveryMs !== 'on_request' && !signal.aborted && !ended.signal.aborted) {
      await takeMoment();
      await sleep(momentEveryMs, undefined, { signal: AbortSignal.any([signal, ended.signal]) }).catch(() => {});
    }
  };
  onStart(uris, takeMoment);
  const watchRenditions = async () => {
    const viewings = await Promise.all(
      uris.map((uri) =>
        watchRendition(new URL(uri, indexUrl).href, {
          load,
          signal,
          onReload: (playlist) => onReload(uri, playlist),
        }),
      ),
    );
    ended.abort();
    return viewings;
  };
  const [viewings] = await Promise.all([watchRenditions(), takeMoments()]);
  if (signal.aborted && (signal.reason as Error).name === 'TimeoutError') throw signal.reason;
  // The age of the last playlist depends on the machine, but measured values may be announced only at the end.
  const last = signal.aborted ? undefined : await load(indexUrl);
  if (last !== undefined) multivariant.push(last);
  const renditions = new Map(uris.map((uri, index) => [uri, viewings[index]!]));
  return { multivariant, renditions, moments, failures };
}

async function watchRendition(
  url: string,
  {
    load,
    signal,
    onReload,
  }: {
    readonly load: (url: string) => Promise<Answer | undefined>;
    readonly signal: AbortSignal;
    readonly onReload: (playlist: MediaPlaylist) => void;
  },
): Promise<Viewing> {
  const reloads: (Reload & { atMs: number })[] = [];
  const media = new Map<string, Answer>();
  const asked = new Map<string, Promise<void>>();
  const want = (uri: string | undefined) => {
    if (uri === undefined || asked.has(uri)) return;
    const loaded = load(new URL(uri, url).href).then((answer) => void (answer && media.set(uri, answer)));
    asked.set(uri, loaded);
  };
  // Without directives the answer would wait for a complete segment.
  let answer = await load(`${url}?_HLS_msn=0&_HLS_part=0`);
  let delta: Answer | undefined;
  while (answer !== undefined) {
    const text = answer.body.toString();
    const playlist = readMediaPlaylist(text);
    onReload(playlist);
    const isSameState = delta !== undefined && tailOf(delta.body.toString()) === tailOf(text);
    reloads.push({ text, atMs: answer.atMs, ...(isSameState && { delta: delta!.body.toString() }) });
    for (const { map, uri, gap, parts } of playlist.segments) {
      want(map);
      for (const part of parts) if (!part.gap) want(part.uri);
      if (!gap) want(uri);
    }
    for (const hint of playlist.hints) want(hint.get('URI'));
    if (playlist.ended || signal.aborted) break;
    const next = `${url}?${nextDirectives(playlist)}`;
    [answer, delta] = await Promise.all([load(next), load(`${next}&_HLS_skip=YES`)]);
  }
  await Promise.all(asked.values());
  return { url, reloads, media };
}

/**
 * The end of a playlist, which identifies its state: its last segment or part, what comes next, and the positions of other renditions. One
 * of them can change without the others.
 */
function tailOf(text: string): string {
  const lines = text.trimEnd().split('\n');
  const last = lines.findLast((line) => line.startsWith('#EXT-X-PART:') || !line.startsWith('#'));
  return [last, ...lines.filter((line) => /^#EXT-X-(PRELOAD-HINT|ENDLIST|RENDITION-REPORT)/.test(line))].join('\n');
}
