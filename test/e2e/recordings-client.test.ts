/**
 * The official client of the reference service with a real server: a recording and a clip of a live stream, which can be played and downloaded
 * under the URLs of the answers, at once and after the end.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Livepeer } from 'livepeer';
import { publishLoop, recordLoop } from '../support/looped-publisher.ts';
import { CHEAP, startServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const ok = async (url: string | undefined, init?: RequestInit): Promise<Response> => {
  assert.ok(url !== undefined, 'an answer without a URL');
  const response = await fetch(url, init);
  assert.ok(response.ok, `${url} ${response.status} ${await response.clone().text()}`);
  return response;
};

/** Reads the first bytes of a file, and asserts that they are those of an MP4. */
async function mustBeMp4(url: string | undefined): Promise<void> {
  const response = await ok(url, { headers: { range: 'bytes=0-15' } });
  assert.equal(response.headers.get('content-type'), 'video/mp4');
  assert.equal(Buffer.from(await response.arrayBuffer()).toString('latin1', 4, 8), 'ftyp');
}

test('a live stream is recorded, clipped, downloaded and deleted with the official client', async () => {
  await using server = await startServer({ settings: { ...CHEAP, MILLRACE_SEGMENT_TARGET_DURATION_S: '2' } });
  const client = new Livepeer({ apiKey: server.apiKey, serverURL: `${server.url}/api` });
  const { stream } = await client.stream.create({ name: 'recorded', record: true, profiles: [] });
  assert.ok(stream?.id && stream.playbackId && stream.streamKey);
  await using publisher = await publishLoop(server.rtmpPort, stream.streamKey, {
    loop: await recordLoop(),
    aheadMs: 7000,
  });

  // Three segments are recorded while the stream is live.
  const running = await waitFor(
    async () => {
      const asset = (await client.asset.getAll()).data?.find(({ source }) => source.type === 'recording');
      return (asset?.videoSpec?.duration ?? 0) >= 5 ? asset : undefined;
    },
    { what: 'the recording' },
  );
  assert.equal(running.status?.phase, 'waiting');
  const { session } = await client.session.get(running.id);
  assert.deepEqual([session?.recordingStatus, session?.recordingUrl], ['waiting', running.playbackUrl]);
  assert.doesNotMatch(await (await ok(running.playbackUrl)).text(), /EXT-X-ENDLIST/);
  await mustBeMp4(session?.mp4Url);

  const { startTime, endTime } = (await (
    await ok(`${server.url}/api/asset/${running.id}`, { headers: { authorization: `Bearer ${server.apiKey}` } })
  ).json()) as { startTime: number; endTime: number };
  assert.ok(endTime - startTime >= 4900);
  const made = await client.stream.createClip({
    playbackId: stream.playbackId,
    startTime: startTime + 1000,
    endTime: startTime + 3500,
  });
  const clip = made.data?.asset;
  assert.equal(clip?.status?.phase, 'ready');
  // Every way to find the recording and its clip.
  for (const { data } of [
    await client.session.getAll(),
    await client.session.getRecorded(stream.id),
    await client.session.getRecorded(stream.id, 1),
  ]) {
    assert.deepEqual(
      data?.map(({ id, recordingStatus, recordingUrl }) => [id, recordingStatus, recordingUrl]),
      [[running.id, 'waiting', running.playbackUrl]],
    );
  }
  for (const { data } of [
    await client.stream.getClips(stream.id),
    await client.stream.getClips(stream.playbackId),
    await client.session.getClips(running.id),
  ]) {
    assert.deepEqual(data, [clip]);
  }
  const { task } = await client.task.get(made.data!.task.id!);
  assert.deepEqual([task?.status?.phase, task?.outputAssetId], ['completed', clip.id]);
  assert.deepEqual((await client.task.getAll()).data, [task]);
  const { asset: renamed } = await client.asset.update({ name: 'the goal' }, clip.id);
  assert.deepEqual([renamed?.name, (await client.asset.get(clip.id)).asset?.name], ['the goal', 'the goal']);
  await ok(clip.playbackUrl);
  await mustBeMp4(clip.downloadUrl);
  const { playbackInfo } = await client.playback.get(clip.playbackId!);
  const sources = playbackInfo?.meta.source ?? [];
  const mp4 = sources.find(({ hrn }) => hrn === 'MP4');
  await mustBeMp4(mp4?.url);
  const exact = Number((await ok(mp4?.url, { method: 'HEAD' })).headers.get('content-length'));
  assert.ok(Math.abs(mp4!.size! - exact) < 0.6 * exact, `about ${mp4!.size}, in fact ${exact} bytes`);

  await publisher.stop();
  const stoppedAt = performance.now();
  const ready = await waitFor(
    async () => {
      const { asset } = await client.asset.get(running.id);
      return asset?.status?.phase === 'ready' ? asset : undefined;
    },
    { what: 'the recording to be ready' },
  );
  console.log(`ready ${Math.round(performance.now() - stoppedAt)} ms after the end`);
  assert.equal(ready.playbackUrl, running.playbackUrl);
  const ended = (await client.session.get(running.id)).session;
  assert.deepEqual([ended?.recordingStatus, ended?.mp4Url], ['ready', session?.mp4Url]);
  await mustBeMp4(ended?.mp4Url);
  assert.equal((await client.playback.get(running.id)).playbackInfo?.type, 'recording');

  // While the stream is suspended, its recording and clip cannot be watched.
  for (const [suspended, status] of [
    [true, 404],
    [false, 200],
  ] as const) {
    await client.stream.update({ suspended }, stream.id);
    const isSo = async () => (await fetch(clip.playbackUrl!)).status === status;
    await waitFor(isSo, { what: `the clip of a stream with suspended: ${suspended}` });
  }

  // Its clip outlives the recording.
  assert.equal((await client.asset.delete(running.id)).statusCode, 204);
  const isGone = async () => (await fetch(running.playbackUrl!)).status === 404;
  await waitFor(isGone, { what: 'the recording to be gone' });
  await mustBeMp4(clip.downloadUrl);
  const again = await client.stream.createClip({
    playbackId: clip.playbackId!,
    startTime: startTime + 1500,
    endTime: startTime + 2000,
  });
  await mustBeMp4(again.data?.asset.downloadUrl);
});
