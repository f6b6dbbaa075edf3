/**
 * The child process of {@link file://./publisher.ts}: draws, encodes and publishes at real-time pace with FFmpeg's
 * libraries, in a process of its own so that nothing native can take a test along.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AV_LOG_ERROR } from 'node-av/constants';
import { FormatContext, Log } from 'node-av/lib';
import { AudioEncoder, VideoEncoder } from './encoders.ts';
import type { PublisherCommand, PublisherEvent, PublisherJob, PublisherReport } from './publisher-protocol.ts';

/** The pace when there is only audio: about one of its frames. */
const SOUND_STEP_S = 0.02;

/** How far audio goes ahead of a video frame that does not come. It is more than the delay of any encoder. */
const SOUND_AHEAD_US = 300_000n;

type EndReason = PublisherReport['reason'];

const stopping = new AbortController();
const messages: string[] = [];

process.on('message', (command: PublisherCommand) => {
  if (command.type === 'stop') stopping.abort();
  else void run(command.job);
});
// The test is gone: nobody wants this stream any more.
process.once('disconnect', () => process.exit());

async function run(job: PublisherJob): Promise<void> {
  const key = job.url.slice(job.url.lastIndexOf('/') + 1);
  Log.setCallback((_level, message) => void messages.push(message.replaceAll(key, '[key]').trim()), {
    maxLevel: AV_LOG_ERROR,
  });
  const progress = { frames: 0, worstDelayMs: 0 };
  const reason = await publish(job, progress);
  // FFmpeg's log lines come through the event loop.
  await sleep(0);
  const { user, system } = process.cpuUsage();
  send({ type: 'ended', report: { reason, messages, ...progress, cpuMs: (user + system) / 1000 } });
  process.disconnect?.();
}

async function publish(job: PublisherJob, progress: { frames: number; worstDelayMs: number }): Promise<EndReason> {
  await using output = new FormatContext();
  if (output.allocOutputContext2(null, 'flv', job.url) < 0) throw new Error('FFmpeg has no FLV muxer');
  using video = job.video && new VideoEncoder(output, job.video, job.startTimeS);
  using audio = job.audio && new AudioEncoder(output, job.audio, job.startTimeS);
  // Otherwise audio waits for video, up to ten seconds.
  if (job.video && job.video.pauses.length > 0) output.maxInterleaveDelta = SOUND_AHEAD_US;
  if (output.openOutputSync() < 0) return 'refused';
  if (output.writeHeaderSync() < 0) return 'connection_lost';

  const startedAtMs = Date.now();
  const stepS = job.video ? job.video.fps.den / job.video.fps.num : SOUND_STEP_S;
  for (; ; progress.frames += 1) {
    const mediaS = progress.frames * stepS;
    const delayMs = Date.now() - startedAtMs - mediaS * 1000;
    progress.worstDelayMs = Math.max(progress.worstDelayMs, delayMs);
    // Even when late: a turn of the event loop is where a stop gets through.
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
  // The trailer writes what B-frames held back; closing sends FCUnpublish and deleteStream.
  const finished = (video?.finish() ?? true) && (audio?.finish() ?? true) && output.writeTrailerSync() >= 0;
  output.closeOutputSync();
  if (!finished) return 'connection_lost';
  return stopping.signal.aborted ? 'stopped' : 'finished';
}

function send(event: PublisherEvent): void {
  process.send?.(event);
}
