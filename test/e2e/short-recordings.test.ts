/**
 * Recordings of broadcasts that are shorter than the time for which a session waits for its renditions, in the whole service with a bucket.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import type { FlvFileTag } from '../support/flv-file.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY, startObjectServer } from '../support/object-server.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { CHEAP, startServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const PROFILES = [{ name: 'small', bitrate: 200_000, fps: 0, width: 240, height: 136 }];

async function setUp() {
  await using parts = new AsyncDisposableStack();
  const bucket = parts.use(await startObjectServer());
  const settings = {
    ...CHEAP,
    MILLRACE_RECORDINGS_S3_URL: bucket.settings.s3Url!,
    MILLRACE_RECORDINGS_S3_ACCESS_KEY_ID: ACCESS_KEY_ID,
    MILLRACE_RECORDINGS_S3_SECRET_ACCESS_KEY: SECRET_ACCESS_KEY,
    MILLRACE_RECORDINGS_MIN_FREE_MIB: '0',
  };
  const server = parts.use(await startServer({ settings }));
  const stream = await server.api.createStream({ record: true, profiles: PROFILES });
  const list = async <Item>(path: string) => (await (await server.api.request('GET', path)).json()) as Item[];
  const sessions = () =>
    list<{ id: string; recordingStatus?: string; recordingUrl?: string }>(`/stream/${stream.id}/sessions`);
  /** The types of the stream's events, the oldest first. */
  const events = async () =>
    (await list<{ type: string }>(`/event?streamId=${stream.id}&limit=100`)).map(({ type }) => type).toReversed();
  const client = parts.use(await RtmpClient.publish(server.rtmpPort, stream.streamKey));
  const running = parts.move();
  return { server, bucket, stream, sessions, events, client, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

describe('a broadcast that ends while its renditions are still waited for', () => {
  /** Three seconds, as an encoder sends them. */
  let media: readonly FlvFileTag[];

  before(async () => {
    media = await recordMedia({ video: { width: 320, height: 180, gop: 30, bitrateBps: 300_000 }, durationS: 3 });
  });

  test('has a recording with all of its media, and every event in order', async () => {
    await using world = await setUp();
    const { client, stream, sessions, events, bucket } = world;
    client.tags(media);
    client.unpublish(stream.streamKey);
    const session = await waitFor(
      async () => (await sessions()).find(({ recordingStatus }) => recordingStatus === 'ready'),
      { what: 'the recording to be ready' },
    );
    const playlist = await fetch(new URL('source.m3u8', session.recordingUrl));
    const { segments, ended } = readMediaPlaylist(await playlist.text());
    const durationS = segments.reduce((sum, segment) => sum + segment.durationS, 0);
    assert.ok(ended && Math.abs(durationS - 3) < 0.2, `${durationS} s`);
    const told = await waitFor(async () => (await events()).includes('recording.ready') && (await events()), {
      what: 'the last event',
    });
    const ofSession = told.filter((type) => /^(session|recording)\./.test(type));
    assert.deepEqual(ofSession, [
      'session.started',
      'recording.started',
      'session.ended',
      'recording.waiting',
      'recording.ready',
    ]);
    await waitFor(() => [...bucket.objects.keys()].some((name) => name.endsWith('/index')), { what: 'the upload' });
  });

  test('without a whole part leaves no session, no file and no object', async () => {
    await using world = await setUp();
    const { client, server, stream, sessions, events, bucket } = world;
    const firstFrame = media.findIndex(({ type, body }) => type === 9 && body[1] === 1);
    client.tags(media.slice(0, firstFrame + 1));
    await client.heard();
    client.unpublish(stream.streamKey);
    await waitFor(async () => (await events()).includes('stream.idle'), { what: 'the end of the publish' });
    assert.deepEqual(await sessions(), []);
    // Once the recording of a second broadcast is uploaded, anything that was left of the first one would be in the bucket.
    await using again = await RtmpClient.publish(server.rtmpPort, stream.streamKey);
    again.tags(media);
    again.unpublish(stream.streamKey);
    await waitFor(() => [...bucket.objects.keys()].some((name) => name.endsWith('/index')), { what: 'the upload' });
    const [recording, ...others] = new Set([...bucket.objects.keys()].map((name) => name.split('/')[0]));
    assert.deepEqual(others, []);
    const folder = join(server.dataDir, 'recordings');
    const folders = existsSync(folder) ? readdirSync(folder) : [];
    assert.deepEqual(
      folders.filter((name) => name !== recording),
      [],
    );
    assert.equal((await sessions()).length, 1);
  });
});
