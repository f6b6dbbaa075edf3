/**
 * A real encoder for tests and benches: FFmpeg 8 through node-av, in a child process. It publishes frames that show their number and the time at
 * which they were drawn ({@link file://./frame-code.ts}) and a beep every second.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type {
  AudioJob,
  PublisherCommand,
  PublisherEvent,
  PublisherJob,
  PublisherReport,
  VideoJob,
} from './publisher-protocol.ts';

export type { PublisherReport } from './publisher-protocol.ts';

/** What to publish. The default suits most tests: 640x360 at 30 frames per second, with a keyframe every second. */
export interface PublisherOptions {
  /** `rtmp://host:port/live/<streamKey>`. Never shown to other processes, never logged. */
  readonly url: string;
  /** `false` for audio only. */
  readonly video?: Partial<VideoJob> | false;
  /** `false` for video only. */
  readonly audio?: Partial<AudioJob> | false;
  /** Seconds of media after which it stops cleanly. Without this, it publishes until it is told to stop. */
  readonly durationS?: number;
  /** Timestamp of the first frame, in seconds. */
  readonly startTimeS?: number;
}

const VIDEO: VideoJob = {
  codec: 'h264',
  width: 640,
  height: 360,
  fps: { num: 30, den: 1 },
  gop: 30,
  keyframesAtS: [],
  pauses: [],
  bFrames: 0,
  openGop: false,
  bitrateBps: 1_000_000,
  preset: 'ultrafast',
  tune: 'zerolatency',
};
const AUDIO: AudioJob = { codec: 'aac', sampleRate: 48_000, channels: 2, bitrateBps: 96_000 };

/** The server refused the publish. The message has the reason in FFmpeg's words. */
export class PublishRefusedError extends Error {
  readonly report: PublisherReport;

  constructor(report: PublisherReport) {
    super(`publish refused: ${report.messages.join('; ') || 'no reason given'}`);
    this.name = 'PublishRefusedError';
    this.report = report;
  }
}

/** A running publish. Disposing it kills it when it has not ended yet. */
export interface Publisher extends AsyncDisposable {
  /** Wall clock when media time 0 was drawn, in milliseconds since the Unix epoch. */
  readonly startedAtMs: number;
  /** Resolves when the publish has ended, for whatever reason. Never rejects. */
  readonly ended: Promise<PublisherReport>;
  /** Ends the publish as the stop button of an encoder does, with FCUnpublish. */
  stop(): Promise<PublisherReport>;
  /** Kills the encoder with SIGKILL, so that the connection ends without FCUnpublish. */
  kill(): Promise<PublisherReport>;
}

/**
 * Starts to publish. Waits until the server accepted and the first frame was sent.
 * @throws {PublishRefusedError} when the server refuses the key, or nobody listens
 */
export async function startPublisher(options: PublisherOptions): Promise<Publisher> {
  const child = forkPublisher();
  const started = Promise.withResolvers<number>();
  const ended = watch(child, started);
  tell(child, { type: 'publish', job: jobOf(options) });
  const kill = () => {
    child.kill('SIGKILL');
    return ended;
  };
  return {
    startedAtMs: await started.promise,
    ended,
    kill,
    stop: () => {
      if (child.connected) tell(child, { type: 'stop' });
      return ended;
    },
    [Symbol.asyncDispose]: async () => void (await kill()),
  };
}

/** Starts a child that waits for its job. */
export function forkPublisher(): ChildProcess {
  return fork(join(import.meta.dirname, 'publisher-child.ts'), [], {
    // The child gets no flags of the test runner. What FFmpeg prints is not part of any test's output.
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** The job with these options. @param isFast for files: whether to encode as fast as the machine can, and not in real time */
export function jobOf(options: PublisherOptions, isFast = false): PublisherJob {
  return {
    url: options.url,
    isFast,
    video: options.video === false ? undefined : { ...VIDEO, ...options.video },
    audio: options.audio === false ? undefined : { ...AUDIO, ...options.audio },
    durationS: options.durationS,
    startTimeS: options.startTimeS ?? 0,
  };
}

async function watch(child: ChildProcess, started: PromiseWithResolvers<number>): Promise<PublisherReport> {
  let report: PublisherReport | undefined;
  child.on('message', (event: PublisherEvent) => {
    if (event.type === 'started') started.resolve(event.startedAtMs);
    else report = event.report;
  });
  // The last message may come after the exit, but not after the channel's end.
  await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);

  const reason = child.signalCode === 'SIGKILL' ? 'killed' : 'crashed';
  report ??= { reason, messages: [], frames: 0, cpuMs: 0, worstDelayMs: 0 };
  started.reject(new PublishRefusedError(report));
  return report;
}

function tell(child: ChildProcess, command: PublisherCommand): void {
  child.send(command);
}
