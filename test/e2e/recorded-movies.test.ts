/**
 * The MP4s of a recording over the real service, while it is recorded and afterwards.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CreatedStream } from '../support/api-client.ts';
import type { FlvFileTag } from '../support/flv-file.ts';
import { readMovie } from '../support/iso-bmff.ts';
import { shownFrames } from '../support/numbered-frames.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { type SteppedServer, startSteppedServer } from '../support/stepped-server.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const FPS = 30;
/** Less than the ten seconds by which a publisher may be ahead. */
const DURATION_S = 9;
const SIZE = { width: 320, height: 180 };
const VIDEO_TAG = 9;

/** A session as the API shows it, with what is here about its recording. */
interface RecordedSession {
  readonly id: string;
  readonly recordingStatus: string;
  readonly mp4Url: string;
  readonly recordingUrl: string;
}

describe('the MP4 of a recording', needs('ffmpeg'), () => {
  const held = new AsyncDisposableStack();
  let server: SteppedServer;
  let folder: string;
  let tags: readonly FlvFileTag[];
  let stream: CreatedStream;
  let publisher: RtmpClient;
  let session: RecordedSession;

  before(async () => {
    folder = held.use(await mkdtempDisposable(join(tmpdir(), 'millrace-movie-'))).path;
    // Its clock stands still. Otherwise frames would be repeated once all media was sent and no more came.
    server = held.use(await startSteppedServer({ settings: { MILLRACE_SEGMENT_TARGET_DURATION_S: '2' } }));
    const video = { ...SIZE, fps: { num: FPS, den: 1 }, gop: FPS, bFrames: 2, bitrateBps: 400_000, tune: undefined };
    tags = await recordMedia({ video, audio: {}, durationS: DURATION_S });
    stream = await server.api.createStream({ record: true });
    publisher = held.use(await RtmpClient.publish(server.rtmpPort, stream.streamKey));
  });
  after(() => held.disposeAsync());

  async function sessionNow(): Promise<RecordedSession | undefined> {
    const [found] = (await (
      await server.api.request('GET', `/stream/${stream.id}/sessions?record=1`)
    ).json()) as RecordedSession[];
    return found;
  }

  async function download(
    url: string,
  ): Promise<{ readonly path: string; readonly bytes: Buffer; readonly etag: string }> {
    const response = await fetch(url);
    assert.equal(response.status, 200, `${url}: ${await response.clone().text()}`);
    assert.equal(response.headers.get('content-type'), 'video/mp4');
    const bytes = Buffer.from(await response.arrayBuffer());
    assert.equal(bytes.length, Number(response.headers.get('content-length')));
    const path = join(folder, 'movie.mp4');
    await writeFile(path, bytes);
    return { path, bytes, etag: response.headers.get('etag')! };
  }

  const numbersOf = async (path: string) => (await shownFrames(path, SIZE)).map(({ number }) => number);
  const numbers = (from: number, until: number) => Array.from({ length: until - from }, (_, index) => from + index);

  test('exists while it is recorded, and has the whole segments that there are', async () => {
    publisher.tags(tags);
    session = await waitFor(
      async () => {
        const found = await sessionNow();
        return found?.mp4Url === undefined ? undefined : found;
      },
      { what: 'the URL of the MP4' },
    );
    const { path } = await waitFor(
      async () => {
        const response = await fetch(session.mp4Url, { redirect: 'manual' });
        return response.status === 307 && (await download(session.mp4Url));
      },
      { what: 'the MP4 of the running session' },
    );
    const shown = await numbersOf(path);
    assert.ok(shown.length >= FPS);
    assert.deepEqual(shown, numbers(0, shown.length));
  });

  test('has every packet that was published once the session has ended', async () => {
    publisher.unpublish(stream.streamKey);
    await waitFor(async () => (await sessionNow())?.recordingStatus === 'ready', { what: 'the recording to be ready' });
    const { path, bytes } = await download(session.mp4Url);
    assert.deepEqual(await numbersOf(path), numbers(0, FPS * DURATION_S));
    const [video, audio] = readMovie(bytes);
    const published = tags.filter(({ type, body }) => type === VIDEO_TAG && body[1] === 1 && body.length > 5);
    assert.deepEqual(
      video!.samples.map(({ data }) => Buffer.from(data)),
      published.map(({ body }) => Buffer.from(body.subarray(5))),
    );
    assert.ok(Math.abs(video!.shownS - DURATION_S) < 0.05 && Math.abs(audio!.shownS - DURATION_S) < 0.1);
  });

  test('is one file for everybody, whatever ranges of it are read at once', async () => {
    const { bytes, etag } = await download(session.mp4Url);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const readers = Array.from({ length: 8 }, async (_, reader) => {
      const hash = createHash('sha256');
      const rangeBytes = 20_011 * (reader + 1);
      for (let at = 0; at < bytes.length; at += rangeBytes) {
        const range = `bytes=${at}-${Math.min(at + rangeBytes, bytes.length) - 1}`;
        const response = await fetch(session.mp4Url, { headers: { range, 'if-range': etag } });
        assert.equal(response.status, 206);
        hash.update(Buffer.from(await response.arrayBuffer()));
      }
      return hash.digest('hex');
    });
    for (const read of await Promise.all(readers)) assert.equal(read, sha256);
    const last = await fetch(session.mp4Url, { headers: { range: 'bytes=-1000' } });
    assert.deepEqual(Buffer.from(await last.arrayBuffer()), bytes.subarray(-1000));
    const head = await fetch(session.mp4Url, { method: 'HEAD' });
    assert.equal(Number(head.headers.get('content-length')), bytes.length);
  });

  test('of a clip shows exactly the frames in it', async () => {
    for (const [first, end] of [
      [0, 30],
      [17, 18],
      [44, 131],
      [200, 255],
    ] as const) {
      // A frame is shown for 33 ms, so the middle of the one before is between two frames.
      const from = Math.max(0, (first - 0.5) / FPS).toFixed(3);
      const to = ((end - 0.5) / FPS).toFixed(3);
      const { path } = await download(`${session.mp4Url}?from=${from}&to=${to}`);
      assert.deepEqual(await numbersOf(path), numbers(first, end), `${from} to ${to}`);
    }
  });

  test('of its audio has no video', async () => {
    const url = session.mp4Url.replace(/[^/]+$/, 'audio.m4a');
    const response = await fetch(url);
    assert.equal(response.headers.get('content-type'), 'audio/mp4');
    const tracks = readMovie(Buffer.from(await response.arrayBuffer()));
    assert.deepEqual(
      tracks.map(({ kind }) => kind),
      ['soun'],
    );
  });
});
