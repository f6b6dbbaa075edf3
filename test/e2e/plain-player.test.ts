/**
 * A player that knows nothing of parts plays the same playlists: Debian's ffmpeg reads a live stream as an HLS input.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CreatedStream } from '../support/api-client.ts';
import { decode } from '../support/decode.ts';
import { type Publisher, startPublisher } from '../support/publisher.ts';
import { CHEAP, type ServerProcess, startServerProcess } from '../support/server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { everyRenditionHasSegment } from './viewer.ts';

/** ffmpeg 5.1 reads the init segment again after each reload of a live fMP4 playlist, whoever serves it. */
const OF_NO_CONSEQUENCE = /Found duplicated MOOV Atom/;

const FPS = 30;

describe('ffmpeg as a player', { ...needs('ffmpeg'), concurrency: true }, () => {
  let server: ServerProcess;

  before(async () => {
    const settings = { ...CHEAP, MILLRACE_SEGMENT_TARGET_DURATION_S: '2', MILLRACE_PLAYLIST_WINDOW_S: '12' };
    server = await startServerProcess({ settings });
  });
  after(() => server[Symbol.asyncDispose]());

  test('plays a live stream, without a warning and without a frame missing, to its end', async () => {
    const stream = await server.api.createStream();
    await using publisher = await publish(server, stream, 18);
    const { output, messages } = await play(server.playlistUrl(stream.playbackId));
    assert.equal((await publisher.ended).reason, 'finished');
    assert.deepEqual(messages, []);
    const { frames, sound } = await decode([output]);
    const counters = frames.map(({ code }) => code?.counter ?? Number.NaN);
    const [first = Number.NaN] = counters;
    assert.deepEqual(counters, countersFrom(first, 18 * FPS));
    assert.ok(first < 4 * FPS, 'it started no further back than three segments');
    assert.ok(sound!.beepsS.length >= 13);
  });

  test('continues by itself when a lost encoder has come back, and misses only what was not sent', async () => {
    const stream = await server.api.createStream();
    await using lost = await publish(server, stream);
    const playing = play(server.playlistUrl(stream.playbackId));
    const drawn = () => (Date.now() - lost.startedAtMs) / 1000;
    await waitFor(() => drawn() > 5, { what: 'five seconds of media' });
    await lost.kill();
    await waitFor(() => drawn() > 9, { what: 'four seconds of nothing' });
    await using back = await publish(server, stream, 6);
    const { output, messages } = await playing;
    assert.equal((await back.ended).reason, 'finished');
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

/** Publishes, and waits until a player that knows no parts can start: ffmpeg gives up on a playlist without segments. */
async function publish(at: ServerProcess, stream: CreatedStream, durationS?: number): Promise<Publisher> {
  const publisher = await startPublisher({
    url: at.rtmpUrl(stream.streamKey),
    ...(durationS !== undefined && { durationS }),
  });
  const url = at.playlistUrl(stream.playbackId);
  await waitFor(() => everyRenditionHasSegment(url), { what: 'a complete segment' });
  return publisher;
}

const countersFrom = (first: number, end: number): number[] => Array.from({ length: end - first }, (_, n) => first + n);

/** Plays until the stream ends. */
async function play(url: string): Promise<{ readonly output: Buffer; readonly messages: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  try {
    const file = join(folder, 'played.mkv');
    const args = ['-nostdin', '-hide_banner', '-loglevel', 'repeat+warning', '-i', url, '-c', 'copy', '-t', '60', file];
    const child = spawn('ffmpeg', args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 40_000,
      killSignal: 'SIGKILL',
    });
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 0, text);
    return {
      output: await readFile(file),
      messages: text.split('\n').filter((line) => line !== '' && !OF_NO_CONSEQUENCE.test(line)),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}
