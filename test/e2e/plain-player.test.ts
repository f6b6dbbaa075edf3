/**
 * A player that knows nothing of parts plays the same playlists: Debian's ffmpeg reads a live stream as an HLS input.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { decode } from '../support/decode.ts';
import { startPublisher } from '../support/publisher.ts';
import { startServerProcess } from '../support/server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { everyRenditionHasSegment } from './viewer.ts';

/** ffmpeg 5.1 reads the init segment again after each reload of a live fMP4 playlist, whoever serves it. */
const OF_NO_CONSEQUENCE = /Found duplicated MOOV Atom/;

test(
  'ffmpeg plays a live stream, without a warning and without a frame missing, to its end',
  needs('ffmpeg'),
  async () => {
    const settings = { MILLRACE_SEGMENT_TARGET_DURATION_S: '2', MILLRACE_PLAYLIST_WINDOW_S: '12' };
    await using server = await startServerProcess({ settings });
    const stream = await server.api.createStream();
    await using publisher = await startPublisher({ url: server.rtmpUrl(stream.streamKey), durationS: 18 });
    const url = server.playlistUrl(stream.playbackId);
    // Before that there are only parts, which such a player does not see; ffmpeg gives up on a playlist without segments.
    await waitFor(() => everyRenditionHasSegment(url), { what: 'a complete segment' });
    const { output, messages } = await play(url);
    assert.equal((await publisher.ended).reason, 'finished');
    assert.deepEqual(messages, []);
    const { frames, sound } = await decode([output]);
    const counters = frames.map(({ code }) => code?.counter ?? Number.NaN);
    const [first = Number.NaN] = counters;
    assert.deepEqual(
      counters,
      counters.map((_, index) => first + index),
    );
    assert.equal(counters.at(-1), 18 * 30 - 1, 'the last frame that was drawn');
    assert.ok(first < 4 * 30, 'it started no further back than three segments');
    assert.ok(sound!.beepsS.length >= 13);
  },
);

/** Plays until the stream ends. */
async function play(url: string): Promise<{ readonly output: Buffer; readonly messages: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  try {
    const file = join(folder, 'played.mkv');
    const args = ['-nostdin', '-hide_banner', '-loglevel', 'warning', '-i', url, '-c', 'copy', '-t', '60', file];
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
