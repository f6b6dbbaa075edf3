/**
 * Tests of the whole service with a bucket: recordings are uploaded, and are played from the bucket when this machine has none of their files.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fixtureTags } from '../support/flv-file.ts';
import { ACCESS_KEY_ID, type ObjectServer, SECRET_ACCESS_KEY, startObjectServer } from '../support/object-server.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { startServer, startServerProcess, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

async function bucketOf(t: TestContext): Promise<{ bucket: ObjectServer; settings: Record<string, string> }> {
  const bucket = await startObjectServer();
  t.after(() => bucket[Symbol.asyncDispose]());
  const settings = {
    MILLRACE_RECORDINGS_S3_URL: bucket.settings.s3Url!,
    MILLRACE_RECORDINGS_S3_ACCESS_KEY_ID: ACCESS_KEY_ID,
    MILLRACE_RECORDINGS_S3_SECRET_ACCESS_KEY: SECRET_ACCESS_KEY,
    MILLRACE_RECORDINGS_MIN_FREE_MIB: '0',
  };
  return { bucket, settings };
}

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-e2e-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

/** Publishes two seconds to a stream that is recorded, and stops. Returns the id of the recording. */
async function record(server: TestServer): Promise<string> {
  const { id, streamKey } = await server.api.createStream({ record: true });
  await using client = await RtmpClient.publish(server.rtmpPort, streamKey);
  client.tags(fixtureTags());
  const session = await waitFor(
    async () => {
      const answer = await server.api.request('GET', `/stream/${id}/sessions?record=1`);
      const [found] = (await answer.json()) as { id: string; recordingUrl?: string }[];
      return found?.recordingUrl === undefined ? undefined : found;
    },
    { what: 'the recording' },
  );
  client.unpublish(streamKey);
  return session.id;
}

interface AssetBody {
  readonly status: { readonly phase: string };
  readonly playbackUrl: string;
  readonly downloadUrl: string;
}

const readyAsset = (server: TestServer, id: string): Promise<AssetBody> =>
  waitFor(
    async () => {
      const asset = (await (await server.api.request('GET', `/asset/${id}`)).json()) as AssetBody;
      return asset.status.phase === 'ready' ? asset : undefined;
    },
    { what: 'the asset' },
  );

/** The MP4 of a recording, from the given server. */
async function download(server: TestServer, { downloadUrl }: AssetBody): Promise<Buffer> {
  const { pathname, search } = new URL(downloadUrl);
  const answer = await fetch(server.url + pathname + search);
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

test('a recording is put into the bucket when it ends, and plays from there after a restart without its folder', async (t) => {
  const { bucket, settings } = await bucketOf(t);
  const dataDir = await folderOf(t);
  const apiKey = `test_${'k'.repeat(40)}`;
  let original: Buffer;
  let asset: AssetBody;
  {
    await using server = await startServer({ settings, dataDir, apiKey });
    const id = await record(server);
    asset = await readyAsset(server, id);
    original = await download(server, asset);
    await waitFor(() => [...bucket.objects.keys()].some((name) => name.endsWith('/index')), { what: 'the upload' });
    for (const secret of [SECRET_ACCESS_KEY, 'Signature=']) assert.ok(!server.logLines.join('').includes(secret));
  }
  rmSync(join(dataDir, 'recordings'), { recursive: true });
  await using server = await startServer({ settings, dataDir, apiKey });
  assert.deepEqual(await download(server, asset), original);
  const playlist = await fetch(server.url + new URL(asset.playbackUrl).pathname);
  assert.equal(playlist.status, 200);
});

test('a server that is killed while the bucket is away uploads after its restart, without being asked', async (t) => {
  const { bucket, settings } = await bucketOf(t);
  const dataDir = await folderOf(t);
  bucket.faultOf = () => ({ type: 'refused', status: 503, code: 'SlowDown' });
  {
    await using server = await startServerProcess({ settings, dataDir });
    const asset = await readyAsset(server, await record(server));
    assert.ok((await download(server, asset)).length > 0, 'it plays although it is not in the bucket');
    await server.kill();
  }
  assert.equal(bucket.objects.size, 0);
  bucket.faultOf = () => undefined;
  await using server = await startServerProcess({ settings, dataDir });
  await waitFor(() => [...bucket.objects.keys()].some((name) => name.endsWith('/index')), { what: 'the upload' });
  assert.ok(!server.logLines.join('').includes(SECRET_ACCESS_KEY));
});

test('a bucket without its keys is a mistake in the settings', async (t) => {
  const dataDir = await folderOf(t);
  const settings = { MILLRACE_RECORDINGS_S3_URL: 'https://s3.example.com/bucket' };
  await assert.rejects(startServer({ settings, dataDir }), /MILLRACE_RECORDINGS_S3_SECRET_ACCESS_KEY/);
});
