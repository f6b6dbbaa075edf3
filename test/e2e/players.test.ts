/**
 * Players as people have them, with their own settings: hls.js with and without low latency, Shaka and video.js in Chromium, ffmpeg, and
 * GStreamer with both of its demuxers. They play one stream at the same time.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NEEDS_CHROMIUM } from '../support/chromium.ts';
import { openPlayers, type Players } from '../support/players/all-players.ts';
import type { PlayerReport, Playing, ShownFrame } from '../support/players/player.ts';
import { startPublisher } from '../support/publisher.ts';
import { CHEAP, startServer, type TestServer } from '../support/server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const FPS = 15;
/** Small frames, so that seven players can decode them on a slow machine. A keyframe every 2 s. */
const VIDEO = { width: 320, height: 180, fps: { num: FPS, den: 1 }, gop: 2 * FPS, bitrateBps: 400_000 };
/** Long enough for a busy machine. A player that has stopped for good does not play on within this time. */
const PATIENCE_MS = 120_000;
/** How long the publisher is away. The test is about this time, so it really passes. */
const AWAY_MS = 5000;
const needed = [NEEDS_CHROMIUM, needs('ffmpeg'), needs('gst-launch-1.0')];

const parts = new AsyncDisposableStack();
let server: TestServer;
let players: Players;

describe('stock players', { skip: needed.map(({ skip }) => skip).find((skip) => skip !== false) ?? false }, () => {
  before(async () => {
    // The reconnect window is so long that no publisher misses it.
    server = parts.use(await startServer({ settings: { ...CHEAP, MILLRACE_RECONNECT_WINDOW_S: '600' } }));
    players = parts.use(await openPlayers());
  });
  after(() => parts.disposeAsync());

  test('opened when a stream begins play it, continue when the publisher comes back after five seconds, and end when it comes back with another size, all without a fatal error', async () => {
    const stream = await server.api.createStream();
    await using lost = await startPublisher({ url: server.rtmpUrl(stream.streamKey), video: VIDEO });
    const url = server.playlistUrl(stream.playbackId);
    await waitFor(async () => (await fetch(url)).ok, { what: 'the first part' });
    await using opened = await openAll(url);
    await opened.each('two seconds of frames', ({ frames }) => frames.length >= 2 * FPS);
    await lost.kill();
    await sleep(AWAY_MS);
    await using back = await startPublisher({ url: server.rtmpUrl(stream.streamKey), video: VIDEO });
    const isNew = ({ drawnAtMs }: ShownFrame) => drawnAtMs >= back.startedAtMs;
    await opened.each('two seconds of new frames', ({ frames }) => frames.filter(isNew).length >= 2 * FPS);
    await back.kill();
    const video = { ...VIDEO, width: 640, height: 360 };
    await using _other = await startPublisher({ url: server.rtmpUrl(stream.streamKey), video });
    await opened.each('the end', ({ ended }) => ended);
  });
});

/** All players, playing. */
interface Opened extends AsyncDisposable {
  /** Waits until something is true of every player, and fails when one of them gives up. */
  each(what: string, isSo: (report: PlayerReport, name: string) => boolean): Promise<void>;
}

/** The text of all playlists of a stream at present, for the error of a test that fails. */
async function playlistsOf(url: string): Promise<string> {
  const index = await (await fetch(url)).text();
  const names = index.match(/[\w/]+\.m3u8/g) ?? [];
  const playlists = names.map(async (name) => await (await fetch(new URL(name, url))).text());
  return [index, ...(await Promise.all(playlists))].join('\n');
}

async function openAll(url: string): Promise<Opened> {
  const stack = new AsyncDisposableStack();
  const open = async (player: Players['all'][number]): Promise<[string, Playing]> => [
    player.name,
    stack.use(await player.play(url)),
  ];
  const playing = await Promise.all(players.all.map(open));
  return {
    each: async (what, isSo) => {
      for (const [name, player] of playing) {
        let report: PlayerReport | undefined;
        const look = async () => {
          report = await player.report();
          assert.deepEqual(report.fatal, [], name);
          return isSo(report, name);
        };
        await waitFor(look, { what: `${what} in ${name}`, timeoutMs: PATIENCE_MS }).catch(async (error: unknown) => {
          const { state, complaints, frames } = report!;
          const seen = JSON.stringify({
            state,
            complaints: complaints.slice(-5),
            frames: frames.length,
            last: frames.at(-1),
          });
          throw new Error(`${String(error)}: ${seen}\n${await playlistsOf(url)}`);
        });
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
