import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { decode } from './decode.ts';
import { type PublisherOptions, PublishRefusedError, startPublisher } from './publisher.ts';

/** Publishes into a file: the same encoder and muxer, without a server. */
async function publishToFile(options: Omit<PublisherOptions, 'url'>) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-publisher-'));
  try {
    await using publisher = await startPublisher({ ...options, url: join(folder, 'out.flv') });
    const report = await publisher.ended;
    return { report, publisher, decoded: await decode([await readFile(join(folder, 'out.flv'))]) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the test publisher', { concurrency: true }, () => {
  it('sends every frame with its number and the time it was drawn, and beeps in step', async () => {
    const { report, publisher, decoded } = await publishToFile({
      durationS: 1.2,
      video: { fps: { num: 30_000, den: 1001 }, bFrames: 2, preset: 'veryfast', keyframesAtS: [0.5] },
    });
    assert.equal(report.reason, 'finished');
    assert.equal(decoded.complaints.join('\n'), '');
    assert.deepEqual(
      decoded.frames.map(({ code }) => code?.counter),
      Array.from({ length: report.frames }, (_, index) => index),
    );
    assert.deepEqual(
      decoded.frames.flatMap(({ keyframe }, index) => (keyframe ? [index] : [])),
      [0, 15],
    );
    const firstS = decoded.frames[0]!.ptsS;
    for (const { ptsS, code } of decoded.frames) {
      // FLV counts milliseconds.
      assert.ok(Math.abs(ptsS - firstS - (code!.counter * 1001) / 30_000) <= 0.001);
      // Timers may go off a millisecond early by the wall clock.
      assert.ok(code!.drawnAtMs >= publisher.startedAtMs + Math.floor((code!.counter * 1001) / 30) - 1);
    }
    const offsetsS = decoded.audio!.beepsS.map((beepS, index) => Math.abs(beepS - firstS - index));
    assert.equal(offsetsS.length, 2);
    for (const offsetS of offsetsS) assert.ok(offsetS < 0.005, `a beep is ${offsetS} s off its flash`);
  });

  it('starts at the given timestamp, with video or audio alone', async () => {
    const [picture, sound] = await Promise.all([
      publishToFile({ durationS: 0.3, startTimeS: 1000, audio: false }),
      publishToFile({ durationS: 0.3, startTimeS: 2000, video: false }),
    ]);
    assert.equal(picture.decoded.audio, undefined);
    assert.equal(picture.decoded.frames[0]?.ptsS, 1000);
    assert.deepEqual(sound.decoded.frames, []);
    assert.ok(Math.abs(sound.decoded.audio!.startS - 2000) < 0.03);
  });

  it('stops when it is told to, and reports when it was killed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-publisher-'));
    try {
      await using stopped = await startPublisher({ url: join(folder, 'stopped.flv') });
      await using killed = await startPublisher({ url: join(folder, 'killed.flv') });
      assert.equal((await stopped.stop()).reason, 'stopped');
      assert.equal((await killed.kill()).reason, 'killed');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('reports why it was refused, without the stream key', async () => {
    const refusal = startPublisher({ url: 'rtmp://127.0.0.1:1/live/planted-key' });
    await assert.rejects(refusal, (error: unknown) => {
      assert.ok(error instanceof PublishRefusedError);
      assert.match(error.message, /refused/i);
      assert.doesNotMatch(error.message, /planted-key/);
      return true;
    });
  });
});
