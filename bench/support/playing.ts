/**
 * All players, playing one playlist at the same time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Players } from '../../test/support/players/all-players.ts';
import type { PlayerReport, Playing } from '../../test/support/players/player.ts';
import { type Publisher, startPublisher } from '../../test/support/publisher.ts';
import type { TestServer } from '../../test/support/server.ts';
import { waitFor } from '../../test/support/wait-for.ts';

/** Frames per second of {@link PLAYED_VIDEO}. */
export const PLAYED_FPS = 15;
/** Small frames, so that all players can decode them at the same time. A keyframe every 2 s. */
export const PLAYED_VIDEO = {
  width: 320,
  height: 180,
  fps: { num: PLAYED_FPS, den: 1 },
  gop: 2 * PLAYED_FPS,
  bitrateBps: 400_000,
};
/** How long each player may take to reach the state that a case waits for. */
export const TIMEOUT_MS = 20_000;

/** What a player had done at the moment of a report. */
export interface Seen {
  readonly name: string;
  /** Wall clock when the player was started, in milliseconds since the Unix epoch. */
  readonly openedAtMs: number;
  readonly report: PlayerReport;
}

/** All players, playing. */
export interface Opened extends AsyncDisposable {
  /** Waits until a condition holds for all players, or {@link TIMEOUT_MS} and the additional time have passed. */
  readonly until: (holds: (report: PlayerReport) => boolean, moreMs?: number) => Promise<readonly Seen[]>;
}

/** All players, playing a stream. */
export interface Run extends Opened {
  readonly publisher: Publisher;
  readonly streamKey: string;
  /** The URL of the multivariant playlist. */
  readonly url: string;
}

/** Publishes a stream, and opens all players. @param options.afterMs how long after its first part they are opened */
export async function play(
  server: TestServer,
  players: Players,
  { afterMs }: { readonly afterMs: number },
): Promise<Run> {
  await using stack = new AsyncDisposableStack();
  const { streamKey, playbackId } = await server.api.createStream();
  const publisher = stack.use(await startPublisher({ url: server.rtmpUrl(streamKey), video: PLAYED_VIDEO }));
  const url = server.playlistUrl(playbackId);
  await waitFor(async () => (await fetch(url)).ok, { what: 'the first part' });
  await sleep(afterMs);
  const { until } = stack.use(await open(players, url));
  const kept = stack.move();
  return { publisher, streamKey, url, until, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Opens all players at a URL. */
export async function open(players: Players, url: string): Promise<Opened> {
  await using stack = new AsyncDisposableStack();
  const playing: (Omit<Seen, 'report'> & { readonly player: Playing })[] = await Promise.all(
    players.all.map(async (each) => ({
      name: each.name,
      openedAtMs: Date.now(),
      player: stack.use(await each.play(url)),
    })),
  );
  const look = () =>
    Promise.all(
      playing.map(async ({ name, openedAtMs, player }) => ({ name, openedAtMs, report: await player.report() })),
    );
  const kept = stack.move();
  return {
    until: async (holds, moreMs = 0) => {
      const deadline = performance.now() + TIMEOUT_MS + moreMs;
      for (;;) {
        const seen = await look();
        if (seen.every(({ report }) => holds(report)) || performance.now() > deadline) return seen;
        await sleep(100);
      }
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
