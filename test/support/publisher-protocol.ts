/**
 * What the publisher's two processes say to each other. The job goes over the IPC channel and never into the child's
 * arguments or environment: it holds a stream key.
 */
import type { AudioCodec, VideoCodec } from '#media/track.ts';

/** What to publish and how. */
export interface PublisherJob {
  /** `rtmp://host:port/live/<streamKey>`, or the path of an FLV file. */
  readonly url: string;
  /** Encodes as fast as the machine can instead of in real time: for files. */
  readonly isFast: boolean;
  /** Undefined: audio only. */
  readonly video: VideoJob | undefined;
  /** Undefined: video only. */
  readonly audio: AudioJob | undefined;
  /** Seconds of media after which it ends cleanly. Without it, it ends when it receives `stop`. */
  readonly durationS: number | undefined;
  /** Timestamp of the first frame, in seconds: what an encoder that has been running for a while sends. */
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
  /** Further keyframes, in seconds from the start: on the first frame at or after each. */
  readonly keyframesAtS: readonly number[];
  /** No frame is drawn in these times, in seconds from the start. Audio continues. */
  readonly pauses: readonly { readonly fromS: number; readonly untilS: number }[];
  /** Not for AV1. */
  readonly bFrames: number;
  /** HEVC only: B-frames around a keyframe may refer to frames before it. */
  readonly openGop: boolean;
  /** Not for AV1, which keeps its quality instead. */
  readonly bitrateBps: number;
  /** In the words of x264 and x265; AV1 has one of its own. */
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

/** To the child: its job first, then perhaps that it should end as an encoder's stop button does. */
export type PublisherCommand = { readonly type: 'publish'; readonly job: PublisherJob } | { readonly type: 'stop' };

/** From the child. */
export type PublisherEvent =
  /** The server accepted and the first packet is on its way; the wall clock when media time 0 was drawn. */
  | { readonly type: 'started'; readonly startedAtMs: number }
  | { readonly type: 'ended'; readonly report: PublisherReport };

/** How a publish went. */
export interface PublisherReport {
  /**
   * `refused`: never started. `connection_lost`: a write failed; FFmpeg learns of a close by the server no earlier.
   * `crashed`: an error in the publisher itself, printed on standard error.
   */
  readonly reason: 'stopped' | 'finished' | 'refused' | 'connection_lost' | 'killed' | 'crashed';
  /** FFmpeg's own words, when it had any; the stream key is taken out. */
  readonly messages: readonly string[];
  readonly frames: number;
  /** CPU time of the whole child, encoding included. */
  readonly cpuMs: number;
  /** How far the encoder fell behind real time at worst: above one frame the machine was too slow for this job. */
  readonly worstDelayMs: number;
}
