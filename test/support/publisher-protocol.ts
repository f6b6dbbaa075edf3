/**
 * The messages between the two processes of the publisher. The job is sent over the IPC channel and not in the arguments or environment of
 * the child, because it contains a stream key.
 */
import type { AudioCodec, VideoCodec } from '#media/track.ts';

/** What to publish and how. */
export interface PublisherJob {
  /** `rtmp://host:port/live/<streamKey>`, or the path of an FLV file. */
  readonly url: string;
  /** For files: whether to encode as fast as the machine can, and not in real time. */
  readonly isFast: boolean;
  /** Undefined for audio only. */
  readonly video: VideoJob | undefined;
  /** Undefined for video only. */
  readonly audio: AudioJob | undefined;
  /** Seconds of media after which it ends cleanly. Without it, it ends when it receives `stop`. */
  readonly durationS: number | undefined;
  /** Timestamp of the first frame, in seconds. An encoder that has been running for a while does not begin at 0. */
  readonly startTimeS: number;
}

/** Video encoded by x264, x265 or SVT-AV1. */
export interface VideoJob {
  readonly codec: VideoCodec;
  /** At least 320, even. */
  readonly width: number;
  readonly height: number;
  /** Frames per second: 30000 over 1001, say. */
  readonly fps: { readonly num: number; readonly den: number };
  /** Keyframe interval in frames; encoders add none of their own. */
  readonly gop: number;
  /** The times of further keyframes, in seconds from the start. The first frame at or after each time is a keyframe. */
  readonly keyframesAtS: readonly number[];
  /** No frame is drawn in these times, in seconds from the start. Audio continues. */
  readonly pauses: readonly { readonly fromS: number; readonly untilS: number }[];
  /** Not for AV1. */
  readonly bFrames: number;
  /** HEVC only: B-frames around a keyframe may refer to frames before it. */
  readonly openGop: boolean;
  /** Not for AV1, which keeps its quality instead. */
  readonly bitrateBps: number;
  /** The preset, by its name in x264 and x265. AV1 has one of its own. */
  readonly preset: string;
  readonly tune: string | undefined;
}

/** AAC-LC by FFmpeg, or libopus. */
export interface AudioJob {
  readonly codec: AudioCodec;
  /** 48 kHz for Opus. */
  readonly sampleRate: number;
  readonly channels: 1 | 2;
  readonly bitrateBps: number;
}

/**
 * A message to the child: either one job, and later perhaps `stop`, after which it ends like an encoder whose stop button was pressed, or any
 * number of recordings, each of which is answered with `ended`.
 */
export type PublisherCommand =
  | { readonly type: 'publish'; readonly job: PublisherJob }
  | { readonly type: 'stop' }
  | { readonly type: 'record'; readonly job: PublisherJob };

/** A message from the child. */
export type PublisherEvent =
  /** The server has accepted the publish, and the first packet was sent. The wall clock when media time 0 was drawn. */
  | { readonly type: 'started'; readonly startedAtMs: number }
  | { readonly type: 'ended'; readonly report: PublisherReport };

/** The result of a publish. */
export interface PublisherReport {
  /**
   * `refused`: it never started. `connection_lost`: a write failed, which is when FFmpeg notices that the server has closed the connection.
   * `crashed`: an error in the publisher itself, printed on standard error.
   */
  readonly reason: 'stopped' | 'finished' | 'refused' | 'connection_lost' | 'killed' | 'crashed';
  /** The error text of FFmpeg, if there was one, without the stream key. */
  readonly messages: readonly string[];
  readonly frames: number;
  /** CPU time of the whole child, encoding included. */
  readonly cpuMs: number;
  /** The largest lag of the encoder behind real time. When it is more than a frame, the machine was too slow for this job. */
  readonly worstDelayMs: number;
}
