/**
 * What the publisher's two processes say to each other. The job goes over the IPC channel and never into the child's
 * arguments or environment: it holds a stream key.
 */

/** What to publish and how. */
export interface PublisherJob {
  /** `rtmp://host:port/live/<streamKey>`. */
  readonly url: string;
  /** Undefined: sound only. */
  readonly video: VideoJob | undefined;
  /** Undefined: picture only. */
  readonly audio: AudioJob | undefined;
  /** Ends cleanly after this much media; undefined: when told to. */
  readonly durationS: number | undefined;
  /** Timestamp of the first frame, in seconds: what an encoder that has been running for a while sends. */
  readonly startTimeS: number;
}

/** H.264 by x264. */
export interface VideoJob {
  /** At least 320, even. */
  readonly width: number;
  readonly height: number;
  /** Frames per second: 30000 over 1001, say. */
  readonly fps: { readonly num: number; readonly den: number };
  /** Keyframe interval in frames; x264 adds none of its own. */
  readonly gop: number;
  /** Further keyframes, in seconds from the start: on the first frame at or after each. */
  readonly keyframesAtS: readonly number[];
  readonly bFrames: number;
  readonly bitrateBps: number;
  readonly preset: string;
  readonly tune: string | undefined;
}

/** AAC-LC. */
export interface AudioJob {
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
