/**
 * Recorded sessions in the whole service, with encoders that come and go, and servers that are killed.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CreatedStream } from '../support/api-client.ts';
import { decode } from '../support/decode.ts';
import { recordedViolations } from '../support/event-playlist-rules.ts';
import { type MediaPlaylist, readMediaPlaylist } from '../support/hls-playlist.ts';
import { type Loop, publishLoop, recordLoop, SMALL } from '../support/looped-publisher.ts';
import { liveEdge, runEnds } from '../support/recorded-ends.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP, startServerProcess, type TestServer } from '../support/server.ts';
import { inTime, startSteppedServer } from '../support/stepped-server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const FPS = 30;
const PART_S = 0.4;
/** Playlists have times in whole milliseconds. */
const ROUNDING_MS = 5;
const PROFILES = [{ name: 'small', bitrate: 200_000, fps: 0, width: 240, height: 136 }];

interface Session {
  readonly recordingUrl?: string;
  readonly recordingStatus?: string;
  readonly mp4Url?: string;
}

async function sessionOf(server: TestServer, stream: CreatedStream): Promise<Session | undefined> {
  const answer = await server.api.request('GET', `/stream/${stream.id}/sessions`);
  const sessions = (await answer.json()) as Session[];
  assert.ok(sessions.length <= 1, 'one session, one recording');
  return sessions[0];
}

async function readyUrl(server: TestServer, stream: CreatedStream): Promise<string> {
  const ready = async () => {
    const session = await sessionOf(server, stream);
    return session?.recordingStatus === 'ready' ? session.recordingUrl : undefined;
  };
  return await waitFor(ready, { what: 'the recording to be ready' }).catch(async (error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(await sessionOf(server, stream))}`);
  });
}

async function fetched(url: string): Promise<Buffer> {
  const answer = await fetch(url);
  assert.equal(answer.status, 200, url);
  return Buffer.from(await answer.arrayBuffer());
}

async function playlistOf(
  url: string,
  rendition: string,
): Promise<{ text: string; playlist: MediaPlaylist; base: string }> {
  const base = new URL('.', url).href;
  const text = String(await fetched(`${base}${rendition}.m3u8`));
  return { text, playlist: readMediaPlaylist(text), base };
}

/** The runs of a rendition between discontinuities, each as a player would decode it. */
async function decodedRuns(url: string, rendition: string) {
  const { playlist, base } = await playlistOf(url, rendition);
  const runs: { pieces: Buffer[] }[] = [];
  for (const segment of playlist.segments) {
    if (segment.gap) continue;
    if (runs.length === 0 || segment.discontinuity) runs.push({ pieces: [await fetched(base + segment.map)] });
    runs.at(-1)!.pieces.push(await fetched(base + segment.uri));
  }
  return await Promise.all(runs.map(({ pieces }) => decode(pieces)));
}

describe('a recorded session', () => {
  let loop: Loop;

  before(async () => {
    loop = await recordLoop();
  });

  test('is one recording over a reconnect and a change of the size, with the bytes that were live', async () => {
    await using server = await startSteppedServer({ settings: CHEAP });
    const video = { width: 320, height: 180, gop: FPS, bFrames: 2, bitrateBps: 300_000 };
    const [first, other] = await Promise.all([
      recordMedia({ video, durationS: 6 }),
      recordMedia({ video: { ...video, width: 400, height: 224 }, durationS: 6 }),
    ]);
    const stream = await server.api.createStream({ record: true, profiles: PROFILES });
    for (const tags of [first, first, other]) {
      const client = await server.connect(stream);
      await server.send(client, { stream, sendings: inTime(tags) });
      if (tags === other) client.unpublish(stream.streamKey);
      else await client[Symbol.asyncDispose](); // the connection is lost
      await server.pass(1500);
    }
    const url = await readyUrl(server, stream);

    const history = new Map<string, { text: string; delta: string }[]>();
    for (const rendition of ['source', 'audio', 'small']) {
      const { text } = await playlistOf(url, rendition);
      history.set(rendition, [{ text, delta: text }]);
    }
    assert.deepEqual(recordedViolations(history, 2), []);

    const runs = await decodedRuns(url, 'source');
    assert.deepEqual(
      runs.map(({ frames }) => [
        frames[0]?.width,
        Math.floor(frames.length / 170),
        frames.every(({ code }) => code !== undefined),
      ]),
      // A publisher that comes back the same goes on in the same run.
      [
        [320, 2, true],
        [400, 1, true],
      ],
    );
    for (const { complaints } of runs) assert.deepEqual(complaints, []);
    for (const { complaints } of await decodedRuns(url, 'small')) assert.deepEqual(complaints, []);

    // What is still in the live window is the same as what was recorded of that time.
    const { playlist, base } = await playlistOf(url, 'source');
    const live = server.playlistUrl(stream.playbackId);
    const liveBase = new URL('.', live).href;
    const liveName = /^.*source\.m3u8$/m.exec(String(await fetched(live)))?.[0];
    const liveUrl = new URL(liveName ?? '', liveBase);
    const window = readMediaPlaylist(String(await fetched(liveUrl.href)));
    const dated = new Map(window.segments.map((segment) => [segment.programDateTime, segment]));
    let compared = 0;
    for (const { programDateTime, uri } of playlist.segments) {
      const same = programDateTime === undefined ? undefined : dated.get(programDateTime);
      if (same?.uri === undefined) continue;
      assert.deepEqual(await fetched(base + uri), await fetched(new URL(same.uri, liveUrl).href));
      compared += 1;
    }
    assert.ok(compared >= 3, `${compared} segments compared`);
  });

  test(
    'whose server is killed again and again loses at most a part each time, and goes on',
    needs('ffmpeg'),
    async (t) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'millrace-test-'));
      const settings = { ...CHEAP, MILLRACE_RECONNECT_WINDOW_S: '600', MILLRACE_RECORDING_VOLUME_S: '10' };
      let server = await startServerProcess({ settings, dataDir });
      try {
        const { apiKey } = server;
        const stream = await server.api.createStream({ record: true });
        const kills: Edges[] = [];
        /** Waits until two seconds more are recorded than before. */
        const recordMore = async (beforeS: number) => {
          await waitFor(async () => (await recordedS(server, stream)) > beforeS + 2, {
            what: 'a few seconds of media',
          });
        };
        for (let kill = 0; kill < 3; kill++) {
          const beforeS = kill === 0 ? 0 : await alreadyS(server, stream);
          await using _publisher = await publishLoop(server.rtmpPort, stream.streamKey, { loop });
          await recordMore(beforeS);
          await sleep(150 * kill); // at another moment of a segment each time
          // A busy machine may write late, and then a kill loses more.
          const isWritten = async () => {
            const edges = await edgesOf(server, stream);
            return edges.liveMs - edges.writtenMs <= PART_S * 1000 && edges;
          };
          kills.push(await waitFor(isWritten, { what: 'the recording to be a part behind the live edge at most' }));
          await server.kill();
          server = await startServerProcess({ settings, dataDir, apiKey });
        }
        {
          const beforeS = await alreadyS(server, stream);
          await using publisher = await publishLoop(server.rtmpPort, stream.streamKey, { loop });
          await recordMore(beforeS);
          await publisher.stop();
        }
        const url = await readyUrl(server, stream);
        const { playlist } = await playlistOf(url, 'source');
        assert.deepEqual(
          playlist.segments.map(({ msn }) => msn),
          Array.from(playlist.segments.keys()),
        );
        const ends = runEnds(playlist);
        assert.equal(ends.length, 4);
        for (const [index, { liveMs, writtenMs }] of kills.entries()) {
          const endMs = ends[index]!;
          t.diagnostic(`kill ${index + 1}: ${((liveMs - endMs) / 1000).toFixed(3)} s before the kill are lost`);
          assert.ok(endMs >= writtenMs - ROUNDING_MS, `${writtenMs - endMs} ms are lost of what was written`);
          assert.ok(liveMs - endMs <= PART_S * 1000 + ROUNDING_MS, `${liveMs - endMs} ms are lost`);
        }
        // In the time base of the media, because rounded to a constant frame rate two frames may be at the same time.
        const asRecorded = ['-map', '0:v', '-enc_time_base', '-1', '-f', 'null', '-'];
        const played = spawnSync('ffmpeg', ['-v', 'warning', '-xerror', '-i', url, ...asRecorded]);
        assert.deepEqual([played.status, String(played.stderr)], [0, '']);
      } finally {
        await server[Symbol.asyncDispose]();
        rmSync(dataDir, { recursive: true });
      }
    },
  );

  test('goes on when the server is stopped and started', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'millrace-test-'));
    const settings = { ...CHEAP, MILLRACE_RECONNECT_WINDOW_S: '600' };
    let server = await startServerProcess({ settings, dataDir });
    try {
      const { apiKey } = server;
      const stream = await server.api.createStream({ record: true });
      {
        await using _publisher = await publishLoop(server.rtmpPort, stream.streamKey, { loop });
        await waitFor(async () => (await recordedS(server, stream)) > 3, { what: 'a few seconds of media' });
        assert.equal(await server.stop(), 0);
      }
      server = await startServerProcess({ settings, dataDir, apiKey });
      {
        const beforeS = await alreadyS(server, stream);
        await using publisher = await publishLoop(server.rtmpPort, stream.streamKey, { loop });
        await waitFor(async () => (await recordedS(server, stream)) > beforeS + 3, { what: 'a few seconds more' });
        await publisher.stop();
      }
      const runs = await decodedRuns(await readyUrl(server, stream), 'source');
      assert.equal(runs.length, 2);
      for (const { frames, complaints } of runs) {
        assert.deepEqual(complaints, []);
        assert.ok(frames.length >= 3 * SMALL.fps.num);
      }
    } finally {
      await server[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true });
    }
  });
});

/** The ends of a running session, in milliseconds since the epoch. */
interface Edges {
  /** Of what live viewers can get. */
  readonly liveMs: number;
  /** Of what is written of its recording. */
  readonly writtenMs: number;
}

async function edgesOf(server: TestServer, { playbackId }: CreatedStream): Promise<Edges> {
  const liveMs = await liveEdge(server, playbackId);
  const { to } = (await (await fetch(`${server.url}/hls/${playbackId}/recording.json`)).json()) as { to: number };
  return { liveMs, writtenMs: to };
}

/** The length of a recording that has some media already, also right after a restart of the server. */
async function alreadyS(server: TestServer, stream: CreatedStream): Promise<number> {
  return await waitFor(async () => (await recordedS(server, stream)) || undefined, { what: 'what is recorded' });
}

/** Seconds of media in the replay by now. */
async function recordedS(server: TestServer, stream: CreatedStream): Promise<number> {
  const url = (await sessionOf(server, stream))?.recordingUrl;
  if (url === undefined) return 0;
  const answer = await fetch(new URL('source.m3u8', url));
  if (answer.status !== 200) return 0;
  return readMediaPlaylist(await answer.text()).segments.reduce((sum, { durationS }) => sum + durationS, 0);
}
