/**
 * A publish that is watched in steps: more media is sent only when the viewer has got everything so far.
 */
import type { CreatedStream } from '../support/api-client.ts';
import type { MediaPlaylist } from '../support/hls-playlist.ts';
import type { Sending, SteppedPublish, SteppedServer } from '../support/stepped-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWatching, type Watched, type Watching } from './viewer.ts';

/** A time limit that is far longer than any of these runs. */
const TIME_LIMIT_MS = 400_000;
/** How often all media playlists are compared, by the server's clock. */
const MOMENT_EVERY_MS = 1000;

/** The length of media that is enough for a viewer to start, whatever is transcoded. */
const STARTS_AFTER_MS = 2500;
/** How far the end of encoded audio may lag behind what was sent: a part, and what its encoder holds. */
const ENCODED_WITHIN_MS = 900;

/** A viewer that a publish waits for. */
export interface SteppedViewer {
  /**
   * Waits until nothing is left to get for this viewer and all others of the server: it holds every request they have made. Then compares
   * all media playlists, if that was not done in the last second of the server's clock.
   */
  keepsUp(): Promise<void>;
  /** Waits until the viewer knows of media from that moment of the server's clock in the rendition of that name. */
  reaches(name: string, atMs: number): Promise<void>;
  readonly watched: Promise<Watched>;
}

/** All viewers of a server. */
const audiences = new WeakMap<SteppedServer, Watching[]>();

/** Starts a viewer that watches all media playlists to the end. It starts when the multivariant playlist has enough variants. */
export function startSteppedViewer(
  server: SteppedServer,
  { playbackId }: CreatedStream,
  { variants = 1 } = {},
): SteppedViewer {
  const viewing = startWatching(server.playlistUrl(playbackId), {
    signal: AbortSignal.timeout(TIME_LIMIT_MS),
    momentEveryMs: 'on_request',
    variants,
  });
  const audience = audiences.get(server) ?? [];
  audiences.set(server, [...audience, viewing]);
  let momentAt = Number.NEGATIVE_INFINITY;
  return {
    watched: viewing.watched,
    keepsUp: async () => {
      const isHeld = async () => outstandingAt(server) === (await server.heldRequests());
      await waitFor(isHeld, { what: 'the viewers to keep up', timeoutMs: TIME_LIMIT_MS });
      if (!viewing.hasAll || server.clock.monotonic() - momentAt < MOMENT_EVERY_MS) return;
      momentAt = server.clock.monotonic();
      await viewing.takeMoment();
    },
    reaches: async (name, atMs) => {
      const hasReached = () => {
        const [, playlist] = [...viewing.newest].find(([uri]) => uri.endsWith(`/${name}.m3u8`)) ?? [];
        return playlist !== undefined && endMs(playlist) >= atMs;
      };
      await waitFor(hasReached, { what: `the end of ${name}`, timeoutMs: TIME_LIMIT_MS });
    },
  };
}

/** How a publish is watched. */
export interface SteppedWatchOptions extends Pick<SteppedPublish, 'beginsAtMs' | 'stepMs' | 'isPaced' | 'isUnaided'> {
  /** How many variants the viewer waits for before it starts. */
  readonly variants?: number;
  /** Whether the audio is transcoded, which the server does not count as lag. */
  readonly encodesAudio?: boolean;
  /** Called after each step with the milliseconds since the start of the publish, before the next one. */
  readonly afterStep?: (atMs: number) => Promise<void>;
}

/** Publishes all of the media, stops as an encoder does, and returns what a viewer got from the start to the end. */
export async function publishWatched(
  server: SteppedServer,
  stream: CreatedStream,
  sendings: readonly Sending[],
  { variants = 1, encodesAudio = false, afterStep, ...options }: SteppedWatchOptions = {},
): Promise<Watched> {
  await using client = await server.connect(stream);
  const viewer = startSteppedViewer(server, stream, { variants });
  const publish = {
    ...options,
    stream,
    sendings,
    afterStep: async (atMs: number) => {
      if (encodesAudio && atMs >= STARTS_AFTER_MS)
        await viewer.reaches('audio', server.clock.now() - ENCODED_WITHIN_MS);
      await viewer.keepsUp();
      await afterStep?.(atMs);
    },
  };
  // A viewer that fails must not be waited for.
  await Promise.race([server.send(client, publish), viewer.watched]);
  client.unpublish(stream.streamKey);
  return await viewer.watched;
}

const outstandingAt = (server: SteppedServer): number =>
  (audiences.get(server) ?? []).reduce((sum, { outstanding }) => sum + outstanding, 0);

/** When the last part of a playlist ends, by the server's clock. */
function endMs({ segments }: MediaPlaylist): number {
  const { programDateTime, durationS, uri, parts } = segments.at(-1)!;
  const lastsS = uri === undefined ? parts.reduce((sum, part) => sum + part.durationS, 0) : durationS;
  return Date.parse(programDateTime!) + lastsS * 1000;
}
