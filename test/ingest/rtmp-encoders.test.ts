/**
 * Publishes from real encoders, and a recording of OBS, which express the same things differently.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packetSamples } from '#media/codecs.ts';
import type { Packet } from '#media/packet.ts';
import { startEncoder } from '../support/external-encoder.ts';
import { startPublisher } from '../support/publisher.ts';
import type { AudioJob, VideoJob } from '../support/publisher-protocol.ts';
import { GOOD_KEY, type RecordedPublication } from '../support/recording-gate.ts';
import { RtmpClient } from '../support/rtmp-client.ts';
import { startTestRtmpServer, type TestRtmpServer } from '../support/rtmp-server.ts';
import { needs } from '../support/tools.ts';

const urlOf = ({ port }: TestRtmpServer, streamKey = GOOD_KEY) => `rtmp://127.0.0.1:${port}/live/${streamKey}`;
const shownAt = (packets: readonly Packet[]) => packets.map(({ pts }) => pts).toSorted((a, b) => a - b);

/** Asserts what holds for every encoder: `frames` at 30 a second, a keyframe every 30 frames, B-frames, and audio. */
function assertWhole(publication: RecordedPublication, frames: number): void {
  assert.deepEqual(publication.ends, ['unpublished']);
  assert.deepEqual(
    new Set(publication.tracks.map(({ kind }) => kind)),
    publication.announcements.at(-1)?.kinds, // flvmux announces what it has, and again when it has more
    'the tracks announced are the tracks sent',
  );
  const video = publication.of('video');
  assert.equal(video.length, frames);
  assert.deepEqual(
    video.flatMap(({ keyframe }, index) => (keyframe ? [index] : [])),
    Array.from({ length: frames / 30 }, (_, index) => index * 30),
  );
  for (const kind of ['video', 'audio'] as const) {
    const packets = publication.of(kind);
    assert.ok(
      packets.every(({ dts, pts }, index) => pts >= dts && (index === 0 || dts >= packets[index - 1]!.dts)),
      `${kind} is in order`,
    );
  }
  const shown = video.map(({ pts }) => pts);
  const inOrder = shownAt(video);
  assert.notDeepEqual(shown, inOrder, 'B-frames are sent in another order than they are shown');
  for (const [index, pts] of inOrder.entries()) {
    // RTMP counts milliseconds: 90 ticks.
    assert.ok(Math.abs(pts - inOrder[0]! - index * 3000) <= 90 * 2, `frame ${index} is shown at ${pts}`);
  }
  const audio = publication.of('audio');
  const seconds = (audio.at(-1)!.dts - audio[0]!.dts) / 48_000;
  assert.ok(Math.abs(seconds - frames / 30) < 0.15, `${seconds} s of audio`);
}

describe('a publish arrives complete from', { concurrency: 2 }, () => {
  it('ffmpeg of the system', needs('ffmpeg'), async () => {
    await using server = await startTestRtmpServer();
    const command = [
      '-nostdin -loglevel error -re -f lavfi -i testsrc2=size=320x180:rate=30 -f lavfi -i sine=sample_rate=48000',
      '-t 2 -c:v libx264 -preset veryfast -bf 2 -g 30 -sc_threshold 0 -pix_fmt yuv420p -c:a aac -f flv',
      urlOf(server),
    ].join(' ');
    await using encoder = startEncoder('ffmpeg', command.split(' '));
    const { code } = await encoder.ended;
    assert.equal(code, 0);
    assertWhole(await server.gate.ended(), 60);
    assert.match(server.gate.publication.request.encoder ?? '', /Lavf/);
  });

  it('GStreamer’s rtmp2sink', needs('gst-launch-1.0'), async () => {
    await using server = await startTestRtmpServer();
    const pipeline = [
      'videotestsrc num-buffers=60 ! video/x-raw,format=I420,width=320,height=180,framerate=30/1',
      '! x264enc bframes=2 b-adapt=false key-int-max=30 speed-preset=veryfast option-string=scenecut=0 ! h264parse ! mux.',
      'audiotestsrc num-buffers=94 ! audio/x-raw,rate=48000,channels=2 ! voaacenc ! aacparse ! mux.',
      `flvmux name=mux streamable=true ! rtmp2sink timeout=60 location=${urlOf(server)}`,
    ].join(' ');
    await using encoder = startEncoder('gst-launch-1.0', ['-q', ...pipeline.split(' ')]);
    const { code, output } = await encoder.ended;
    assert.equal(code, 0, output);
    assertWhole(await server.gate.ended(), 60);
  });

  it('FFmpeg 8, from hours into its stream', async () => {
    await using server = await startTestRtmpServer();
    // Beyond 2^24 ms, where RTMP needs extended timestamps; chunks end in the middle of frames.
    const startTimeS = 5 * 3600;
    await using publisher = await startPublisher({
      url: urlOf(server),
      durationS: 2,
      startTimeS,
      video: { bFrames: 2, preset: 'veryfast', bitrateBps: 4_000_000, tune: undefined },
    });
    assert.equal((await publisher.ended).reason, 'finished');
    assertWhole(await server.gate.ended(), 60);
    assert.equal(shownAt(server.gate.publication.of('video'))[0], startTimeS * 90_000);
  });

  const enhanced: readonly [what: string, video: Partial<VideoJob>, audio: Partial<AudioJob>, codecs: string[]][] = [
    ['HEVC and AAC', { codec: 'h265' }, {}, ['hvc1.1.6.L63.90', 'mp4a.40.2']],
    [
      'HEVC with B-frames and Opus',
      { codec: 'h265', bFrames: 2, tune: undefined },
      { codec: 'opus' },
      ['Opus', 'hvc1.1.6.L63.90'],
    ],
    ['AV1 and AAC', { codec: 'av1' }, {}, ['av01.0.01M.08', 'mp4a.40.2']],
    ['H.264 and Opus', {}, { codec: 'opus' }, ['Opus', 'avc1.42c01e']],
  ];
  for (const [what, video, audio, codecs] of enhanced) {
    it(`FFmpeg 8, ${what}`, async () => {
      await using server = await startTestRtmpServer();
      await using publisher = await startPublisher({ url: urlOf(server), durationS: 2, video, audio });
      assert.equal((await publisher.ended).reason, 'finished');
      const publication = await server.gate.ended();
      assert.deepEqual(publication.ends, ['unpublished']);
      assert.deepEqual(publication.tracks.map(({ codecString }) => codecString).toSorted(), codecs);
      assert.deepEqual(publication.announcements[0]?.kinds, new Set(['video', 'audio']));
      const frames = publication.of('video');
      const shown = shownAt(frames);
      assert.equal(frames.length, 60);
      assert.deepEqual(
        frames.flatMap(({ keyframe, pts }) => (keyframe ? [shown.indexOf(pts)] : [])),
        [0, 30],
      );
      for (const [index, pts] of shown.entries()) {
        assert.ok(Math.abs(pts - shown[0]! - index * 3000) <= 90 * 2, `frame ${index} is shown at ${pts}`);
      }
      const track = publication.tracks.find((each) => each.kind === 'audio')!;
      const audioPackets = publication.of('audio');
      const samples = audioPackets.reduce((sum, { data }) => sum + packetSamples(track, data), 0);
      assert.ok(Math.abs(samples / 48_000 - 2) < 0.1, `${samples} samples of audio`);
    });
  }

  it('OBS, in any slices that the network delivers, without the other codecs and tracks that it offers', async () => {
    const text = readFileSync(join(import.meta.dirname, '../fixtures/rtmp/obs-publish.hex'), 'utf8');
    const bytes = Buffer.from(text.replace(/^#.*$/gm, '').replace(/\s/g, ''), 'hex');
    await using server = await startTestRtmpServer();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 8 }), async (places) => {
        const before = server.gate.publications.length;
        await using client = await RtmpClient.open(server.port);
        await client.handshake();
        const ends = [...places, bytes.length].toSorted((a, b) => a - b);
        for (const [index, end] of ends.entries()) client.raw(bytes.subarray(ends[index - 1] ?? 0, end));
        await server.gate.until('a publish', () => server.gate.publications.length > before);
        const publication = await server.gate.ended();
        assert.deepEqual(publication.ends, ['unpublished']);
        assert.equal(publication.request.encoder, 'FMLE/3.0 (compatible; FMSc/1.0)');
        assert.deepEqual(publication.announcements, [
          {
            kinds: new Set(['video', 'audio']),
            videoBitrateBps: 2_500_000,
            audioBitrateBps: 160_000,
            encoder: 'obs-output module (libobs version 31.0.0)',
          },
        ]);
        assert.deepEqual(
          publication.tracks.map(({ kind }) => kind),
          ['video', 'audio'],
        );
        const video = publication.of('video');
        assert.equal(video.length, 10);
        assert.deepEqual(
          shownAt(video).map((pts) => pts - shownAt(video)[0]!),
          shownAt(video).map((_, index) => index * 3600),
        );
        assert.equal(publication.of('audio')[1]!.dts - publication.of('audio')[0]!.dts, 1014);
        await client.status((code) => code === 'NetStream.Publish.Start');
      }),
      { numRuns: 10 },
    );
  });
});

describe('an encoder that is refused', () => {
  it('gets the reason: ffmpeg prints the sentence', needs('ffmpeg'), async () => {
    await using server = await startTestRtmpServer();
    const command = `-nostdin -loglevel error -f lavfi -i testsrc2 -c:v libx264 -f flv ${urlOf(server, 'wrong')}`;
    await using encoder = startEncoder('ffmpeg', command.split(' '));
    const { code, output } = await encoder.ended;
    assert.notEqual(code, 0);
    assert.match(output, /The stream key is not valid\./);
  });
});

describe('an encoder that is killed', () => {
  it('counts as a lost connection', async () => {
    await using server = await startTestRtmpServer();
    await using publisher = await startPublisher({ url: urlOf(server) });
    await server.gate.until('media comes through', () => (server.gate.publications[0]?.packets.length ?? 0) > 5);
    await publisher.kill();
    assert.deepEqual((await server.gate.ended()).ends, ['connection_lost']);
  });
});
