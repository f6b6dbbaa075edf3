/**
 * A player that knows nothing of parts plays the same playlists: Debian's ffmpeg reads a live stream as an HLS input.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { decode } from '../support/decode.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP } from '../support/server.ts';
import { inTime, startSteppedServer } from '../support/stepped-server.ts';
import { needs } from '../support/tools.ts';

/** ffmpeg 5.1 reads the init segment again after each reload of a live fMP4 playlist, whoever serves it. */
const OF_NO_CONSEQUENCE = /Found duplicated MOOV Atom/;

/** The level of a line of ffmpeg. */
const IS_COMPLAINT = /\[(warning|error|fatal|panic)\]/;

const FPS = 15;
const SEGMENT_S = 2;
/** The player is started when there are three segments: it begins with the third from the end. */
const PLAYER_AT_MS = 6800;
/** The longest that ffmpeg may take on a machine that may be busy. */
const LIMIT_MS = 240_000;

const record = (durationS: number) =>
  recordMedia({
    video: { width: 320, height: 180, fps: { num: FPS, den: 1 }, gop: FPS, bitrateBps: 300_000 },
    durationS,
  });

/** Simulated time passes as fast as the machine can, so no segment may leave the playlist before the player has loaded it. */
const start = () =>
  startSteppedServer({
    settings: {
      ...CHEAP,
      MILLRACE_SEGMENT_TARGET_DURATION_S: String(SEGMENT_S),
      MILLRACE_PLAYLIST_WINDOW_S: '120',
    },
  });

describe('ffmpeg as a player', { ...needs('ffmpeg') }, () => {
  test('plays a live stream, without a warning and without a frame missing, to its end', async () => {
    await using server = await start();
    const stream = await server.api.createStream();
    await using client = await server.connect(stream);
    const playing = playFrom(server.playlistUrl(stream.playbackId));
    await server.send(client, { stream, sendings: inTime(await record(14)), afterStep: playing.afterStep });
    client.unpublish(stream.streamKey);
    const { output, messages } = await playing.ended;
    assert.deepEqual(messages, []);
    const { frames, audio } = await decode([output]);
    const counters = frames.map(({ code }) => code?.counter ?? Number.NaN);
    const [first = Number.NaN] = counters;
    assert.deepEqual(counters, countersFrom(first, 14 * FPS));
    assert.ok(first < SEGMENT_S * FPS, 'it started no further back than three segments');
    assert.ok(audio!.beepsS.length >= 11);
  });

  test('continues by itself when a lost encoder has come back, and misses only what was not sent', async () => {
    await using server = await start();
    const stream = await server.api.createStream();
    const playing = playFrom(server.playlistUrl(stream.playbackId));
    {
      await using lost = await server.connect(stream);
      await server.send(lost, { stream, sendings: inTime(await record(8)), afterStep: playing.afterStep });
    }
    await server.pass(4000);
    await using back = await server.connect(stream);
    await server.send(back, { stream, sendings: inTime(await record(6)) });
    back.unpublish(stream.streamKey);
    const { output, messages } = await playing.ended;
    assert.deepEqual(messages, []);
    const counters = (await decode([output])).frames.map(({ code }) => code?.counter ?? Number.NaN);
    const restart = counters.lastIndexOf(0);
    assert.deepEqual(counters.slice(restart), countersFrom(0, 6 * FPS));
    // Meanwhile the newest keyframe was shown again and again.
    const before = counters.slice(0, restart);
    const last = before.indexOf(Math.max(...before));
    assert.deepEqual(before.slice(0, last + 1), countersFrom(before[0]!, before[last]! + 1));
    assert.ok(last > FPS, 'it played before the encoder was lost');
    const shownAgain = new Set(before.slice(last + 1));
    assert.equal(shownAgain.size, 1);
    assert.ok([...shownAgain].every((counter) => counter % FPS === 0 && before[last]! - counter < 2 * FPS));
  });
});

const countersFrom = (first: number, end: number): number[] => Array.from({ length: end - first }, (_, n) => first + n);

interface Played {
  readonly output: Buffer;
  readonly messages: readonly string[];
}

/** Starts a player after a certain step of a publish. That step ends when the player has loaded a segment. */
function playFrom(url: string) {
  const ended = Promise.withResolvers<Played>();
  ended.promise.catch(() => {}); // it is awaited after the publish
  let isStarted = false;
  return {
    ended: ended.promise,
    afterStep: async (atMs: number): Promise<void> => {
      if (isStarted || atMs < PLAYER_AT_MS) return;
      isStarted = true;
      const begun = Promise.withResolvers<void>();
      play(url, begun.resolve).then(ended.resolve, ended.reject);
      await Promise.race([begun.promise, ended.promise]);
    },
  };
}

/** Plays until the stream ends. @param onBegun called when the first segment is loaded */
async function play(url: string, onBegun: () => void): Promise<Played> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  try {
    const file = join(folder, 'played.mkv');
    const args = '-nostdin -hide_banner -nostats -loglevel repeat+level+info -i'.split(' ');
    const child = spawn('ffmpeg', [...args, url, '-c', 'copy', '-t', '60', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      if (/Opening '[^']*\.m4s' for reading/.test(text)) onBegun();
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 0, text);
    return {
      output: await readFile(file),
      messages: text.split('\n').filter((line) => IS_COMPLAINT.test(line) && !OF_NO_CONSEQUENCE.test(line)),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}
