/**
 * The life of a stream in the real service: when it is active, which sessions it has, who may publish, and how it ends.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { fetchableS } from '#hls/hls.ts';
import { ApiClient, type CreatedStream, type StreamObject } from '../support/api-client.ts';
import { startFfmpeg } from '../support/ffmpeg.ts';
import { fixtureTags } from '../support/flv-file.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { publishLoop } from '../support/looped-publisher.ts';
import { PublishRefusedError, startPublisher } from '../support/publisher.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import { CHEAP, type ServerProcess, startServerProcess } from '../support/server.ts';
import { startSteppedServer } from '../support/stepped-server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { get, mediaPlaylistUris } from './viewer.ts';

const PROGRAM = join(import.meta.dirname, '../../bin/millrace.js');
const TARGET_DURATION_S = 2;
const WINDOW_S = 12;
/** Long enough for a busy machine to see what happens within it, and shorter than the time for which a stream can be watched afterwards. */
const RECONNECT_WINDOW_S = 16;

let server: ServerProcess;

before(async () => {
  server = await startServerProcess({
    settings: {
      ...CHEAP,
      MILLRACE_SEGMENT_TARGET_DURATION_S: String(TARGET_DURATION_S),
      MILLRACE_PLAYLIST_WINDOW_S: String(WINDOW_S),
      MILLRACE_RECONNECT_WINDOW_S: String(RECONNECT_WINDOW_S),
    },
  });
});
after(() => server[Symbol.asyncDispose]());

describe('a stream', { concurrency: true }, () => {
  test('is active from its first packet until its encoder has stopped, and can be watched for a while after', async () => {
    const stream = await server.api.createStream({ name: 'stopped' });
    assert.deepEqual(activityOf(stream), { isActive: false, lastSeen: 0 });
    await using client = await RtmpClient.publish(server.rtmpPort, stream.streamKey);
    const connected = await server.api.getStream(stream.id);
    assert.deepEqual(activityOf(connected), { isActive: false, lastSeen: 0 }, 'connected, but no packet yet');
    const startedAt = Date.now();
    client.tags(fixtureTags());
    const live = await waitFor(() => activeStream(stream), { what: 'the stream to be active' });
    assert.ok(live.lastSeen >= startedAt - 1 && live.lastSeen <= Date.now());

    const media = await mediaUrls(stream);
    client.unpublish(stream.streamKey);
    const stoppedAt = Date.now();
    await waitFor(() => inactiveStream(stream), { what: 'the stream to be inactive' });
    for (const url of media.playlists) {
      const { ended, hints } = readMediaPlaylist((await get(url)).body.toString());
      assert.ok(ended);
      assert.equal(hints.length, 0);
    }
    assert.equal((await get(server.playlistUrl(stream.playbackId))).status, 200);

    const fetchableForS = fetchableS({ windowS: WINDOW_S, targetDurationS: TARGET_DURATION_S });
    const offline = await waitFor(
      async () => {
        const answer = await get(server.playlistUrl(stream.playbackId));
        if (answer.status !== 200) return answer;
        for (const url of [...media.playlists, ...media.resources]) {
          const { status } = await get(url);
          // The media may have been removed a moment ago.
          assert.ok(status === 200 || (Date.now() - stoppedAt) / 1000 >= fetchableForS, url);
        }
        await sleep(500);
        return undefined;
      },
      { what: 'the stream to be offline', timeoutMs: (fetchableForS + 120) * 1000 },
    );
    assert.ok((Date.now() - stoppedAt) / 1000 >= fetchableForS, 'all of it was there for long enough');
    assert.equal(offline.status, 404);
    assert.match(offline.body.toString(), /stream is offline/);
    assert.equal(offline.headers.get('cache-control'), 'no-store');
    for (const url of media.playlists) assert.equal((await get(url)).status, 404);
    const end = await server.api.getStream(stream.id);
    assert.ok(end.lastSeen >= startedAt && end.lastSeen <= stoppedAt);
  });

  test('is inactive once its encoder was killed, waits for it, and ends when it does not come back', async () => {
    const stream = await server.api.createStream({ name: 'killed' });
    await using publisher = await startPublisher({ url: server.rtmpUrl(stream.streamKey) });
    await waitFor(() => activeStream(stream), { what: 'the stream to be active' });
    const { playlists } = await mediaUrls(stream);
    await publisher.kill();
    await waitFor(() => inactiveStream(stream), { what: 'the stream to be inactive' });
    const read = async () => readMediaPlaylist((await get(firstPart(playlists[0]!))).body.toString());
    const partsOf = ({ segments }: Awaited<ReturnType<typeof read>>) => segments.flatMap(({ parts }) => parts).length;
    const before = partsOf(await read());
    const waiting = await waitFor(
      async () => {
        const now = await read();
        return (now.ended || partsOf(now) > before + 1) && now;
      },
      { what: 'the playlist to go on without a publisher' },
    );
    assert.equal(waiting.ended, false);
    await waitFor(async () => (await read()).ended, { what: 'EXT-X-ENDLIST' });
  });

  test('shows each publish as a session of its own, which has no stream key', async () => {
    const profiles = [{ name: '240p0', bitrate: 250_000, fps: 0, width: 426, height: 240 }];
    const stream = await server.api.createStream({ name: 'sessions', profiles });
    const { streamKey: _key, ...withoutKey } = stream;
    const ids: string[] = [];
    for (const _ of [1, 2]) {
      await using publisher = await publishLoop(server.rtmpPort, stream.streamKey);
      await waitFor(() => activeStream(stream), { what: 'the stream to be active' });
      const id = await waitFor(() => sessionIds(stream).find((each) => !ids.includes(each)), { what: 'a session' });
      ids.push(id);
      // The log has it before the store.
      const isStored = async () => (await server.api.request('GET', `/stream/${id}`)).status === 200;
      await waitFor(isStored, { what: 'the session to be stored' });
      const measured = async () => {
        const { health, ingestRate, outgoingRate, ...others } = await server.api.getStream(id);
        return health !== undefined && ingestRate !== undefined && outgoingRate !== undefined && others;
      };
      const session = await waitFor(measured, { what: 'health and rates' });
      assert.deepEqual(
        { ...session, createdAt: 0, lastSeen: 0 },
        {
          ...withoutKey,
          id,
          parentId: stream.id,
          isActive: true,
          isHealthy: true,
          issues: [],
          createdAt: 0,
          lastSeen: 0,
        },
      );
      await publisher.stop();
      await waitFor(async () => !(await server.api.getStream(id)).isActive, { what: 'its end' });
    }
    const listed = (await (await server.api.request('GET', '/stream?limit=1000')).json()) as StreamObject[];
    assert.ok(listed.some(({ id }) => id === stream.id));
    assert.ok(!listed.some(({ id }) => ids.includes(id)), 'sessions are not listed among streams');
  });

  test('refuses a second encoder with the reason, without effect on the first', needs('ffmpeg'), async () => {
    const stream = await server.api.createStream({ name: 'taken' });
    const url = server.rtmpUrl(stream.streamKey);
    await using publisher = await startPublisher({ url });
    await waitFor(() => activeStream(stream), { what: 'the stream to be active' });
    await using second = startFfmpeg(url);
    const { code, output } = await second.ended;
    assert.notEqual(code, 0);
    assert.match(output, /already in use/i);
    await assert.rejects(startPublisher({ url }), PublishRefusedError);
    assert.equal((await server.api.getStream(stream.id)).isActive, true);
    assert.equal((await publisher.stop()).reason, 'stopped');
    assert.equal(sessionIds(stream).length, 1);
  });

  test('is taken over from an encoder that has been silent for three seconds, within the same session', async () => {
    const stream = await server.api.createStream({ name: 'half open' });
    await using silent = await RtmpClient.publish(server.rtmpPort, stream.streamKey);
    const saidLastAt = performance.now();
    silent.tags(fixtureTags());
    await waitFor(() => activeStream(stream), { what: 'the stream to be active' });
    const second = await waitFor(
      () =>
        RtmpClient.publish(server.rtmpPort, stream.streamKey).catch(async (error: unknown) => {
          assert.ok(error instanceof RtmpRefusedError);
          await sleep(200);
          return undefined;
        }),
      { what: 'the takeover' },
    );
    await using taking = second;
    const silentForMs = performance.now() - saidLastAt;
    assert.ok(silentForMs > 2900, `taken over after ${silentForMs} ms`);
    await silent.closed();
    taking.tags(fixtureTags());
    await waitFor(() => activeStream(stream), { what: 'the stream to be active again' });
    assert.equal(sessionIds(stream).length, 1);
  });

  for (const [how, signal] of [
    ['kill', 'SIGKILL'],
    ['stop', 'SIGTERM'],
  ] as const) {
    test(`continues in the same session, with larger numbers, when the server ended by ${signal} and was restarted`, async () => {
      const first = await startServerProcess({ settings: CHEAP });
      await using _first = first;
      const stream = await first.api.createStream();
      await using before = await RtmpClient.publish(first.rtmpPort, stream.streamKey);
      before.tags(fixtureTags());
      const old = await videoPlaylist(first, stream);
      // Viewers do not wait for the store, and a session that is not stored yet ends with its process.
      const isStored = async () => {
        const answer = await first.api.request('GET', `/stream/${stream.id}/sessions`);
        return ((await answer.json()) as readonly unknown[]).length > 0;
      };
      await waitFor(isStored, { what: 'the session to be stored' });
      await first[how]();
      const { dataDir, apiKey } = first;
      await using second = await startServerProcess({ settings: CHEAP, dataDir, apiKey });
      assert.equal((await second.api.getStream(stream.id)).isActive, false);
      await using again = await RtmpClient.publish(second.rtmpPort, stream.streamKey);
      again.tags(fixtureTags());
      const now = await videoPlaylist(second, stream);
      assert.equal(new URL(now.url).pathname, new URL(old.url).pathname);
      assert.ok(now.playlist.mediaSequence > old.playlist.segments.at(-1)!.msn);
      const [segment] = now.playlist.segments;
      assert.ok(segment!.discontinuityNumber > old.playlist.segments.at(-1)!.discontinuityNumber);
      assert.ok(Date.parse(segment!.programDateTime!) > Date.parse(old.playlist.segments.at(-1)!.programDateTime!));
    });
  }

  test('is out of reach at the next request after its key was revoked by the command line beside the server', async () => {
    const env = { PATH: process.env.PATH, MILLRACE_DATA_DIR: server.dataDir };
    const millrace = async (...args: readonly string[]) =>
      (await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env })).stdout.trim();
    const secret = await millrace('keys', 'create', '--name', 'short-lived', '--user', 'somebody');
    const api = new ApiClient(`${server.url}/api`, secret);
    const stream = await api.createStream();
    assert.equal(stream.createdByTokenName, 'short-lived');
    assert.equal((await server.api.request('GET', `/stream/${stream.id}`)).status, 404, 'another user’s');
    assert.equal((await api.request('GET', `/stream/${stream.id}`)).status, 200);
    await millrace('keys', 'revoke', 'short-lived');
    const refused = await api.request('GET', `/stream/${stream.id}`);
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer');
    assert.ok(!(await millrace('keys', 'list')).includes(secret));
  });

  test('cannot be found by guessing: wrong stream keys are throttled, and API keys with them', async () => {
    // Its clock stands still, so that no guess is forgotten.
    await using guarded = await startSteppedServer({ settings: { MILLRACE_WRONG_KEYS_PER_MINUTE: '5' } });
    const stream = await guarded.api.createStream();
    const refusals: string[] = [];
    for (let guess = 0; guess < 7; guess += 1) {
      const attempt = RtmpClient.publish(guarded.rtmpPort, `aaaa-bbbb-cccc-000${guess}`);
      await assert.rejects(attempt, (error) => {
        assert.ok(error instanceof RtmpRefusedError);
        refusals.push(String(error.status.description));
        return true;
      });
    }
    assert.equal(refusals.filter((each) => /not valid/.test(each)).length, 5);
    assert.equal(refusals.filter((each) => /too many/i.test(each)).length, 2);
    await assert.rejects(RtmpClient.publish(guarded.rtmpPort, stream.streamKey), RtmpRefusedError);
    const wrong = await new ApiClient(`${guarded.url}/api`, 'a wrong key').request('GET', '/stream');
    assert.equal(wrong.status, 429);
    assert.ok(Number(wrong.headers.get('retry-after')) > 0);
  });
});

const activityOf = ({ isActive, lastSeen }: StreamObject) => ({ isActive, lastSeen });

async function activeStream({ id }: StreamObject): Promise<StreamObject | false> {
  const stream = await server.api.getStream(id);
  return stream.isActive && stream;
}

const inactiveStream = async (stream: StreamObject): Promise<boolean> => !(await activeStream(stream));

/** The ids of a stream's sessions in the order in which they began, from the log, which is ahead of the API. */
function sessionIds({ id }: StreamObject): readonly string[] {
  const ids = server.logLines.flatMap((line) => {
    const { streamId, sessionId } = JSON.parse(line) as Record<string, string>;
    return streamId === id && sessionId !== undefined ? sessionId : [];
  });
  return [...new Set(ids)];
}

/** Returns the playlist of the source's video as soon as it lists media. */
async function videoPlaylist(at: ServerProcess, { playbackId }: CreatedStream) {
  const indexUrl = at.playlistUrl(playbackId);
  const index = await waitFor(
    async () => {
      const answer = await get(indexUrl);
      return answer.status === 200 && answer;
    },
    { what: 'the playlist' },
  );
  const url = new URL(mediaPlaylistUris(index.body.toString()).find((uri) => uri.endsWith('source.m3u8'))!, indexUrl)
    .href;
  return { url, playlist: readMediaPlaylist((await get(firstPart(url))).body.toString()) };
}

/** The media playlist as soon as it lists a part: without directives, it is held until it lists two segments. */
const firstPart = (url: string): string => `${url}?_HLS_msn=0&_HLS_part=0`;

/** The URLs of everything that a stream's playlists list now. */
async function mediaUrls(
  stream: CreatedStream,
): Promise<{ readonly playlists: string[]; readonly resources: string[] }> {
  const indexUrl = server.playlistUrl(stream.playbackId);
  const index = await waitFor(
    async () => {
      const answer = await get(indexUrl);
      return answer.status === 200 && answer;
    },
    { what: 'the first playlist' },
  );
  const playlists = mediaPlaylistUris(index.body.toString()).map((uri) => new URL(uri, indexUrl).href);
  const resources: string[] = [];
  for (const url of playlists) {
    for (const { map, uri, parts } of readMediaPlaylist((await get(firstPart(url))).body.toString()).segments) {
      const uris = [map, uri, ...parts.map((part) => part.uri)].filter((each) => each !== undefined);
      resources.push(...uris.map((each) => new URL(each, url).href));
    }
  }
  return { playlists, resources };
}
