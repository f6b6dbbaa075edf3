/**
 * The health of a stream, as its owner sees it: what a real encoder sends, which renditions are made, and which warnings there are.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Static } from 'typebox';
import type { HealthSchema } from '#api/schemas/health.ts';
import type { SamplesSchema } from '#api/schemas/sample.ts';
import type { StreamSchema } from '#api/schemas/stream.ts';
import { startEncoder } from '../support/external-encoder.ts';
import { readFlvTags } from '../support/flv-file.ts';
import { recordMedia } from '../support/recorded-media.ts';
import { CHEAP } from '../support/server.ts';
import { inTime, startSteppedServer } from '../support/stepped-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

type Health = Static<typeof HealthSchema>;

/** The time in which each of the timers that read measurements fires. They run in real time. */
const PACE_MS = 300;

const near = (actual: number | undefined, expected: number, tolerance: number, what: string) =>
  assert.ok(actual !== undefined && Math.abs(actual / expected - 1) < tolerance, `${what} is ${actual}`);

suite('the health of a stream', () => {
  test('is measured while the stream is live, names its problems, and is null before and after', async () => {
    await using server = await startSteppedServer({ settings: CHEAP });
    const small = { name: 'small', bitrate: 300_000, fps: 15, width: 320, height: 180 };
    const huge = { name: 'huge', bitrate: 3_000_000, fps: 0, width: 1920, height: 1080 };
    const created = await server.api.createStream({ profiles: [small, huge] });
    const read = async () => (await server.api.getStream(created.id)) as unknown as Static<typeof StreamSchema>;
    const thumbnail = () => fetch(`${server.url}/hls/${created.playbackId}/thumbnail.jpg`);
    assert.deepEqual([(await read()).isHealthy, (await read()).issues], [null, null]);
    assert.equal((await thumbnail()).status, 404);

    const media = await recordMedia({ durationS: 8, video: { gop: 180, bitrateBps: 800_000 } });
    await using client = await server.connect(created);
    const measured = async () => {
      const stream = await read();
      const { source, renditions } = stream.health ?? {};
      const isTranscoded = renditions?.every(({ state, video }) => state === 'running' && video?.fps !== undefined);
      return source?.video?.keyframeInterval !== undefined && isTranscoded === true && stream;
    };
    const sendings = inTime(media);
    await server.send(client, { stream: created, sendings, stepMs: 500, afterStep: () => sleep(PACE_MS) });
    // The second keyframe came after 6 s. The clock of the server stands still until everything is measured.
    const live = await waitFor(measured, { what: 'the keyframe interval, and the rendition' });
    assert.equal(live.isHealthy, false);
    assert.deepEqual(live.issues, ['no keyframe for 4.4 s; set the encoder to 2 s']);
    const { encoder, source, renditions, leftOut, transcoder, warnings } = live.health as Health;
    assert.match(encoder ?? '', /^Lavf/);
    assert.deepEqual([source.video?.width, source.video?.height, source.video?.keyframeInterval], [640, 360, 6]);
    near(source.video?.fps, 30, 0.01, 'the frame rate coming in');
    near(source.video?.bitrate, 800_000, 0.25, 'the bit rate coming in');
    assert.deepEqual([source.audio?.codec, source.audio?.sampleRate], ['mp4a.40.2', 48_000]);
    assert.deepEqual(
      renditions.map(({ name, state, video }) => [name, state, video?.width, video?.height]),
      [['small', 'running', 320, 180]],
    );
    near(renditions[0]?.video?.fps, 15, 0.01, 'the frame rate going out');
    assert.deepEqual(leftOut, [{ name: 'huge', reason: 'larger_than_source' }]);
    assert.equal(transcoder?.restarts, 0);
    assert.deepEqual(
      warnings.map(({ code, severity }) => [code, severity]),
      [
        ['profile_larger_than_source', 'notice'],
        ['keyframe_interval_too_long', 'issue'],
      ],
    );

    const picture = await thumbnail();
    assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, 'image/jpeg']);
    assert.deepEqual([...(await picture.bytes()).subarray(0, 3)], [0xff, 0xd8, 0xff]);
    const playback = await (await fetch(`${server.url}/api/playback/${created.playbackId}`)).text();
    assert.ok(playback.includes(`${server.url}/hls/${created.playbackId}/thumbnail.jpg`), playback);

    client.unpublish(created.streamKey);
    await waitFor(async () => !(await read()).isActive, { what: 'the end' });
    const { isHealthy, issues, health } = await read();
    assert.deepEqual([isHealthy, issues, health], [null, null, undefined]);
  });

  test('warns about a video that is black, and keeps samples of the received media', needs('ffmpeg'), async () => {
    await using server = await startSteppedServer({ settings: CHEAP });
    const small = { name: 'small', bitrate: 300_000, fps: 0, width: 320, height: 180 };
    const stream = await server.api.createStream({ profiles: [small] });
    const { id } = stream;
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'black.flv');
    const picture = ['-f', 'lavfi', '-i', 'color=black:size=640x360:rate=30'];
    const sound = ['-f', 'lavfi', '-i', 'sine'];
    const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '60', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
    await using encoder = startEncoder('ffmpeg', ['-nostdin', ...picture, ...sound, ...codecs, '-t', '21', file]);
    assert.equal((await encoder.ended).code, 0);
    await using client = await server.connect(stream);
    const afterStep = () => sleep(PACE_MS);
    const sendings = inTime(readFlvTags(await readFile(file)));
    await server.send(client, { stream, sendings, stepMs: 500, afterStep });
    // The warning is raised with a sample, which a busy machine takes late. The clock of the server stands still meanwhile.
    const isBlack = async () =>
      (await server.api.getStream(id)).health?.warnings.some(({ code }) => code === 'video_black');
    await waitFor(isBlack, { what: 'the warning' });
    const answer = await server.api.request('GET', `/stream/${id}/sessions`);
    const [session] = (await answer.json()) as { readonly id: string }[];
    const read = await server.api.request('GET', `/session/${session!.id}/samples`);
    const { step, samples } = (await read.json()) as Static<typeof SamplesSchema>;
    assert.equal(step, 5);
    assert.ok(samples.length >= 2);
    for (const sample of samples.slice(1)) {
      near(sample.fps, 30, 0.2, 'the frame rate of a sample');
      near(sample.speed, 1, 0.2, 'the speed of a sample');
      assert.equal(sample.keyframeInterval, 2);
    }
  });
});
