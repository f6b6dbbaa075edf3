/**
 * The ladder of all questions about renditions: a 720p30 source, with renditions of 480p, 360p and 240p.
 */
import type { Profile } from '#domain/profile.ts';
import type { CreatedStream } from '../../test/support/api-client.ts';
import { transcodersOf } from '../../test/support/children.ts';
import type { VideoJob } from '../../test/support/publisher-protocol.ts';
import { type ServerProcess, startServerProcess, type TestServer } from '../../test/support/server.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { type Clip, type ClipShape, encodeClip } from './clip.ts';
import { createStreams, publishTo } from './load.ts';
import type { PeerProcess } from './peer-process.ts';

/** A source, and the profiles of its renditions. */
export interface Ladder {
  /** For tables. */
  readonly name: string;
  /** What the publisher sends. */
  readonly source: ClipShape;
  readonly profiles: readonly (Profile & { readonly height: number })[];
}

/** The ladder of all questions about renditions. */
export const LADDER: Ladder = {
  name: '720p30 + 480p + 360p + 240p',
  source: { width: 1280, height: 720, fps: 30, gopS: 2, bFrames: 0, bitrateBps: 3_000_000 },
  profiles: [
    { name: '480p', width: 854, height: 480, fps: 0, bitrate: 1_600_000 },
    { name: '360p', width: 640, height: 360, fps: 0, bitrate: 800_000 },
    { name: '240p', width: 426, height: 240, fps: 0, bitrate: 250_000 },
  ],
};

/** The number of media playlists of the ladder: the source, the profiles and the audio. */
export const RENDITIONS = LADDER.profiles.length + 2;

const clips = new Map<string, Promise<Clip>>();

/** The ladder's source as a clip, perhaps with B-frames; encoded at the first call. */
export function sourceClip({ source }: Ladder, changes: { readonly bFrames?: number } = {}): Promise<Clip> {
  const shape = { ...source, ...changes };
  const key = JSON.stringify(shape);
  const clip = clips.get(key) ?? encodeClip(shape);
  clips.set(key, clip);
  return clip;
}

/** The ladder's source as an encoder makes it live. */
export function liveSource({ source: { fps, gopS, width, height, bitrateBps } }: Ladder): Partial<VideoJob> {
  return { width, height, bitrateBps, fps: { num: fps, den: 1 }, gop: gopS * fps };
}

/** A server with streams that have the ladder, and a process that publishes to them. */
export interface LiveLadders extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly streams: readonly CreatedStream[];
  /** The process that sends. */
  readonly load: PeerProcess;
}

/** Starts all of it, and waits until every rendition of every stream can be played. */
export async function startLadders(count: number, ladder: Ladder, clip: Clip): Promise<LiveLadders> {
  await using parts = new AsyncDisposableStack();
  const server = parts.use(await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } }));
  const { source, profiles } = ladder;
  const streams = await createStreams(server.api, count, () => ({ profiles }));
  // Segments of one stream do not begin when those of all others do.
  const apartMs = (source.gopS * 1000) / count + 100;
  const load = parts.use(await publishTo(server.rtmpPort, streams, clip, { apartMs }));
  for (const { playbackId } of streams) await playlistUrls(server.playlistUrl(playbackId), RENDITIONS);
  const running = parts.move();
  return { server, streams, load, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Waits until a multivariant playlist names enough media playlists, and returns them by their renditions. */
export async function playlistUrls(index: string, count: number): Promise<ReadonlyMap<string, URL>> {
  return await waitFor(
    async () => {
      const response = await fetch(index);
      const text = await response.text();
      if (!response.ok) return undefined;
      const uris = [...text.matchAll(/^(?:#EXT-X-MEDIA:.*URI="([^"]+)".*|([^#\s].*))$/gm)];
      const urls = new Map(
        uris.map(([, audio, video]) => {
          const url = new URL(audio ?? video ?? '', index);
          return [/([^/]*)\.m3u8$/.exec(url.pathname)![1]!, url] as const;
        }),
      );
      return urls.size >= count && urls;
    },
    { what: `${count} renditions`, timeoutMs: 30_000 },
  );
}

/** The processes of a server's transcoders. @throws {Error} when their number is not the given one */
export function transcoderPids(server: ServerProcess, count: number): readonly number[] {
  const pids = transcodersOf(server.pid).map(({ pid }) => pid);
  if (pids.length !== count) throw new Error(`there are ${pids.length} transcoders, not ${count}`);
  return pids;
}

/** Messages of warnings about transcoding a server logged. */
export function transcoderWarnings(server: TestServer): readonly string[] {
  return server.logLines
    .map((line) => JSON.parse(line) as { level: number; msg: string })
    .filter(({ level, msg }) => level >= WARN && /transcoder|rendition/.test(msg))
    .map(({ msg }) => msg);
}

/** The logger's number for a warning. */
const WARN = 40;
