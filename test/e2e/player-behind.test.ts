/**
 * hls.js, with its own settings, in a browser that stands still for some seconds at the worst moment: just before the last part of a segment.
 */
import { test } from 'node:test';
import { launchChromium, NEEDS_CHROMIUM } from '../support/chromium.ts';
import { serveWebPlayers } from '../support/players/web-players.ts';
import { startPublisher } from '../support/publisher.ts';
import { CHEAP, startServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

/** Full parts would leave a last part of two audio frames. */
const VIDEO = { width: 320, height: 180, fps: { num: 25, den: 1 }, gop: 52, bitrateBps: 400_000 };
/** The audio and the video of a segment have this many parts. */
const PARTS = 7;

test(
  'hls.js that stands still before the last part of a segment fires `ended`, because that part is not tiny',
  NEEDS_CHROMIUM,
  async () => {
    await using server = await startServer({ settings: CHEAP });
    await using browser = await launchChromium();
    await using players = await serveWebPlayers(browser);
    const stream = await server.api.createStream();
    await using lost = await startPublisher({ url: server.rtmpUrl(stream.streamKey), video: VIDEO });
    const url = server.playlistUrl(stream.playbackId);
    await waitFor(async () => (await fetch(url)).ok, { what: 'the first part' });
    await using playing = await players.play('hls.js', url);
    const shown = async () => (await playing.report()).frames.length;
    await waitFor(async () => (await shown()) > 50, { what: 'two seconds of frames' });
    await playing.run(`
    globalThis.stoodStill = false;
    player.on('hlsFragLoaded', (_event, { frag, part }) => {
      if (stoodStill || frag.type !== 'audio' || part?.index !== ${PARTS - 2}) return;
      stoodStill = true;
      for (const untilMs = Date.now() + 4000; Date.now() < untilMs; );
    });`);
    // A browser that is too slow for parts loads whole segments, and has no part to stand still before.
    await waitFor(() => playing.run('stoodStill'), { what: 'the part before the last one' }).catch(() => {});
    const before = await shown();
    await waitFor(async () => (await shown()) > before + 50, { what: 'two more seconds of frames' });
    await lost.kill();
    await using _other = await startPublisher({
      url: server.rtmpUrl(stream.streamKey),
      video: { ...VIDEO, width: 640, height: 360 },
    });
    await waitFor(async () => (await playing.report()).ended, { what: 'the end' }).catch(async (error: unknown) => {
      throw new Error(`${String(error)}: ${(await playing.report()).state}`);
    });
  },
);
