/**
 * The child process of {@link file://./publisher.ts}. It draws, encodes and publishes in real time with FFmpeg's libraries. It is a process of
 * its own, so that a crash in native code does not end the test.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AV_LOG_ERROR } from 'node-av/constants';
import { FormatContext, Log } from 'node-av/lib';
import { AudioEncoder, VideoEncoder } from './encoders.ts';
import type { PublisherCommand, PublisherEvent, PublisherJob, PublisherReport } from './publisher-protocol.ts';

/** The step in which media is sent when there is only audio: about one audio frame. */
const AUDIO_STEP_S = 0.02;

/** How far audio is sent beyond a video frame that has not come yet. It is longer than the delay of any encoder. */
const AUDIO_AHEAD_US = 300_000n;

type EndReason = PublisherReport['reason'];

const stopping = new AbortController();
const messages: string[] = [];

/** Recordings are made one after the other, so that FFmpeg's messages belong to the right one. */
let last = Promise.resolve();

process.on('message', (command: PublisherCommand) => {
  switch (command.type) {
    case 'publish':
      void run(command.job).then(() => process.disconnect?.());
      break;
    case 'record':
      last = last.then(() => run(command.job));
      break;
    case 'stop':
      stopping.abort();
  }
});
// The test has ended, so nobody needs this stream any more.
process.once('disconnect', () => process.exit());

async function run(job: PublisherJob): Promise<void> {
  const key = job.url.slice(job.url.lastIndexOf('/') + 1);
  messages.length = 0;
  Log.setCallback((_level, message) => void messages.push(message.replaceAll(key, '[key]').trim()), {
    maxLevel: AV_LOG_ERROR,
  });
  const progress = { frames: 0, worstDelayMs: 0 };
  const reason = await publish(job, progress);
  // FFmpeg's log lines come through the event loop.
  await sleep(0);
  const { user, system } = process.cpuUsage();
  send({ type: 'ended', report: { reason, messages, ...progress, cpuMs: (user + system) / 1000 } });
}

async function publish(job: PublisherJob, progress: { frames: number; worstDelayMs: number }): Promise<EndReason> {
  await using output = new FormatContext();
  if (output.allocOutputContext2(null, 'flv', job.url) < 0) throw new Error('FFmpeg has no FLV muxer');
  using video = job.video && new VideoEncoder(output, job.video, job.startTimeS);
  using audio = job.audio && new AudioEncoder(output, job.audio, job.startTimeS);
  // Without this, the muxer holds audio back for up to ten seconds while it waits for video.
  if (job.video && job.video.pauses.length > 0) output.maxInterleaveDelta = AUDIO_AHEAD_US;
  if (output.openOutputSync() < 0) return 'refused';
  if (output.writeHeaderSync() < 0) return 'connection_lost';

  const startedAtMs = Date.now();
  const stepS = job.video ? job.video.fps.den / job.video.fps.num : AUDIO_STEP_S;
  for (; ; progress.frames += 1) {
    const mediaS = progress.frames * stepS;
    const delayMs = Date.now() - startedAtMs - mediaS * 1000;
    progress.worstDelayMs = Math.max(progress.worstDelayMs, delayMs);
    // Waits even when it is late, because the message to stop is received in a turn of the event loop.
    const waitMs = job.isFast ? 0 : Math.max(0, Math.ceil(-delayMs));
    await sleep(waitMs, undefined, { signal: stopping.signal }).catch(() => {});
    if (stopping.signal.aborted || mediaS >= (job.durationS ?? Number.POSITIVE_INFINITY)) break;

    const paused = job.video?.pauses.some(({ fromS, untilS }) => fromS <= mediaS && mediaS < untilS);
    const wrote =
      (paused || (video?.encode({ counter: progress.frames, drawnAtMs: Date.now() }) ?? true)) &&
      (audio?.encodeUntil(mediaS + stepS) ?? true);
    if (!wrote) return 'connection_lost';
    if (progress.frames === 0) send({ type: 'started', startedAtMs });
  }
  // The trailer writes the frames that B-frames held back. Closing sends FCUnpublish and deleteStream.
  const finished = (video?.finish() ?? true) && (audio?.finish() ?? true) && output.writeTrailerSync() >= 0;
  output.closeOutputSync();
  if (!finished) return 'connection_lost';
  return stopping.signal.aborted ? 'stopped' : 'finished';
}

function send(event: PublisherEvent): void {
  process.send?.(event);
}
