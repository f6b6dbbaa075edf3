/**
 * The catalogue of warnings: what a session may report to its owner about the publisher's media, or about how it is processed.
 */

/** An `issue` makes its session unhealthy; a `notice` only explains what viewers see. */
export type WarningSeverity = 'issue' | 'notice';

/** A number that a warning is about. */
export interface Measured {
  readonly actual: number;
  /** The largest value that is fine, unless the sentence says otherwise. */
  readonly expected: number;
  /** Such as `s`. */
  readonly unit: string;
}

/** An entry of the catalogue. */
interface WarningEntry {
  readonly severity: WarningSeverity;
  /** Seconds for which a warning of an event is shown. Undefined for a warning of a state, which is shown until the state ends. */
  readonly lastsS: number | undefined;
  /** What happens and what to do, in plain words. */
  readonly sentence: (details: never) => string;
  /** What was measured and what it should be, for warnings about a number. */
  readonly measured?: (details: never) => Measured;
  /** For the docs: what has happened. */
  readonly meaning: string;
  /** For the docs: what its owner, or the operator, can do. */
  readonly remedy: string;
}

interface KeyframeDetails {
  /** Between two keyframes; above 0. */
  readonly intervalS: number;
  /** The next keyframe has not come yet. */
  readonly open: boolean;
}

interface DurationDetails {
  /** For how long it has been so; whole seconds are shown. */
  readonly seconds: number;
}

interface RenditionDetails {
  /** Names of the profiles concerned; at least one. */
  readonly renditions: readonly string[];
}

interface SourceDetails {
  /** Why common players cannot decode the video, or show it late. Each completes "the video has". There is at least one. */
  readonly properties: readonly string[];
}

/** The interval between keyframes that encoders should have, in seconds. */
const KEYFRAMES_EVERY_S = 2;
/** Seconds for which most warnings of an event are shown. */
const MOMENT_S = 60;

/** Every warning. The code is part of the interface: add, never rename. */
export const WARNINGS = {
  recording_behind: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'the recording has a gap, because the disk of the server was too slow; live viewers missed nothing',
    meaning:
      'The disk was too slow: the queue of media for the recording was full, so some media was left out. The recording continued, after a discontinuity, once the disk had caught up. Live viewers missed nothing.',
    remedy:
      'The operator can put recordings on a faster disk (`MILLRACE_RECORDINGS_DIR`), or run fewer streams on the machine.',
  },
  recording_stopped: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () =>
      'nothing is recorded for now, because the disk of the server is full or fails; live viewers miss nothing',
    meaning:
      'The recording cannot be written to the disk. The server tries again every few seconds, and the recording continues, after a discontinuity, once the disk has space or works again. Live viewers miss nothing.',
    remedy: 'The operator finds the reason in the log (`recording stopped`), and has to free space or repair the disk.',
  },
  recording_over_quota: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () =>
      'the recording has ended, because your recordings are larger than your quota; delete some, or ask the operator for a larger quota',
    meaning:
      "All recordings of the stream's owner together exceed the quota `recordingGib`. What was recorded by then is kept, further sessions are not recorded, and live viewers miss nothing.",
    remedy:
      'Delete recordings (`DELETE /asset/<id>`), or ask the operator for a larger quota. Sessions that begin at least half a minute later are recorded again.',
  },
  recording_limit_reached: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () =>
      'the recording has ended, because it reached the longest duration of a recording, or was ended before; stop the encoder, wait until the session has ended, and start it again to begin another one',
    meaning:
      'The recording has ended, and the session goes on. The recording is `MILLRACE_RECORDING_MAX_HOURS` long, or its index has 240 MiB (24 hours with about ten renditions at 60 frames a second). After a restart of the server, the warning also stands for a recording that had ended for another reason before, for example when the database was restored from a backup. What was recorded by then is kept, and live viewers miss nothing.',
    remedy:
      'Stop the encoder, wait until the session has ended, and start it again. The new session is recorded. The operator can set a longer limit.',
  },
  recording_upload_failing: {
    severity: 'notice',
    lastsS: undefined,
    sentence: () => 'the recording cannot be uploaded to the bucket for now, and stays on the server; nothing is lost',
    meaning:
      'Recordings cannot be uploaded to the bucket, so they stay on the disk of the server. The server tries again at least every five minutes. The recording can be watched nevertheless.',
    remedy:
      'The operator finds the reason in the log (`recordings cannot be uploaded`): the bucket cannot be reached, is full, or refuses the access key.',
  },
  keyframe_interval_too_long: {
    severity: 'issue',
    // Longer than the time between two such segments of a publisher that does not change.
    lastsS: 30,
    sentence: ({ intervalS, open }: KeyframeDetails) =>
      `${open ? 'no keyframe for' : 'keyframe every'} ${intervalS.toFixed(1)} s; set the encoder to ${KEYFRAMES_EVERY_S} s`,
    measured: ({ intervalS }: KeyframeDetails) => ({
      actual: Number(intervalS.toFixed(1)),
      expected: KEYFRAMES_EVERY_S,
      unit: 's',
    }),
    meaning:
      'A segment of the source rendition begins without a keyframe. Players can neither start nor switch to it there, so both take longer. Renditions of profiles have keyframes of their own. Or the source has sent no keyframe for 10 s or longer since it began or was interrupted. Nothing of it can then be shown, not even its audio.',
    remedy:
      "Set the encoder's keyframe interval to 2 s (OBS: Output, Keyframe Interval; ffmpeg: `-g` twice the frame rate). If nothing is shown, check that the encoder sends video. In H.264 only IDR pictures are keyframes. Broadcasts that are passed on as they are (`-c copy`), intra refresh and x264's `open-gop` have few of them or none: encode such a video anew, with keyframes.",
  },
  timestamps_jumped: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'the timestamps jumped by more than a second; viewers saw a short break',
    meaning:
      'The timestamps of the source went back, or jumped forward by more than a second. The stream continued at the next keyframe, after a discontinuity.',
    remedy:
      'Check what feeds the encoder: a file that loops, a scene whose clock starts anew, or a computer that was asleep. If none of them is the cause, update the encoder.',
  },
  source_not_widely_playable: {
    severity: 'issue',
    lastsS: undefined,
    sentence: ({ properties }: SourceDetails) =>
      `many players cannot play the source, or show it late: the video has ${properties.join(' and ')}; set the encoder to 8-bit 4:2:0, profile High or lower, and at most 4 B-frames`,
    meaning:
      'The source rendition is passed on as it is, and its profile, level, chroma format or bit depth is beyond what phones, Safari and hardware decoders play, or it states B-frames with a depth of more than 4 frames. A decoder shows a frame only when it has as many later ones as the source states, so players begin later, and may freeze or fall behind near the live edge. Renditions of profiles are 8-bit 4:2:0 and play everywhere.',
    remedy:
      'Set the encoder to 8-bit 4:2:0 and profile High, Main or Baseline, level 5.2 at most (OBS: Settings, Advanced, Color Format NV12; ffmpeg: `-pix_fmt yuv420p`; GStreamer: `video/x-raw,format=I420` before the encoder), with at most 4 B-frames (ffmpeg: `-bf 2`; GStreamer: `bframes=2` on `x264enc`). Where the encoder states a larger depth than it uses, as old versions of SVT-HEVC do, update it or use another one.',
  },
  video_black: {
    severity: 'issue',
    lastsS: undefined,
    sentence: ({ seconds }: DurationDetails) =>
      `the video has been black for ${Math.floor(seconds)} s; check the scene, the camera and its cover`,
    measured: ({ seconds }: DurationDetails) => ({ actual: Math.floor(seconds), expected: 0, unit: 's' }),
    meaning: 'Every frame of the last seconds was black. It is noticed only while the video is transcoded.',
    remedy:
      'Look at the preview of the encoder: an empty scene, a source that is hidden or captures nothing, or a camera that is covered or off.',
  },
  video_frozen: {
    severity: 'notice',
    lastsS: undefined,
    sentence: ({ seconds }: DurationDetails) =>
      `the video has shown the same frame for ${Math.floor(seconds)} s; check the capture device, unless a still frame is intended`,
    measured: ({ seconds }: DurationDetails) => ({ actual: Math.floor(seconds), expected: 0, unit: 's' }),
    meaning: 'Frames keep coming, and all look the same. It is noticed only while the video is transcoded.',
    remedy:
      'Restart the capture device or the application that is captured. Nothing is wrong when a still frame is intended, such as a slide.',
  },
  audio_silent: {
    severity: 'issue',
    lastsS: undefined,
    sentence: ({ seconds }: DurationDetails) =>
      `the audio has been silent for ${Math.floor(seconds)} s; check that the microphone is on and not muted in the encoder`,
    measured: ({ seconds }: DurationDetails) => ({ actual: Math.floor(seconds), expected: 0, unit: 's' }),
    meaning:
      'The audio of the last seconds was digital silence, or it came too late for viewers: more than four seconds later than the video of the same time. Only AAC is checked. The noise of a microphone is not silence.',
    remedy:
      'Look at the audio meter of the encoder: a muted source, a wrong device, or an application that plays nothing. If the meter shows sound, remove delays between audio and video in the encoder. Nothing is wrong when silence is intended.',
  },
  profile_larger_than_source: {
    severity: 'notice',
    lastsS: undefined,
    sentence: ({ renditions }: RenditionDetails) =>
      `profiles left out, because they are larger than the source: ${renditions.join(', ')}`,
    meaning: 'These profiles ask for larger frames than the source has. Frames are never enlarged.',
    remedy:
      'Nothing, if the size of the source is intended: viewers get the source as the best rendition. Otherwise publish a larger size.',
  },
  transcode_limit_reached: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () =>
      'only the source plays: the server is already transcoding as many streams as it may; wait until another stream ends',
    meaning:
      'The server already transcodes `MILLRACE_TRANSCODE_MAX` streams. Until one of them ends, there are no renditions, and no audio where the publisher sends Opus.',
    remedy:
      'Wait until another stream has ended. The operator can raise the limit if the machine has CPU left, or use a larger machine.',
  },
  transcode_quota_reached: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () =>
      'only the source plays: this user already has as many transcoded streams as its quota allows; end another stream',
    meaning:
      'The user of the stream already has as many transcoded sessions as its quota allows. Until another one ends there are no renditions, and no audio where the publisher sends Opus.',
    remedy: 'End another stream, or ask an admin for a larger `transcodes` quota.',
  },
  transcode_unavailable: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () => 'only the source plays: this server cannot transcode, because FFmpeg is not installed',
    meaning:
      'FFmpeg is not installed on the server, so there are no renditions, and no audio where the publisher sends Opus.',
    remedy:
      'The operator must install Millrace without `--omit=optional`, because that option leaves out the package with FFmpeg.',
  },
  transcode_source_refused: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () =>
      'only the source plays: this video has made the transcoder fail twice; use ordinary encoder settings and start again',
    meaning:
      'The transcoder failed twice with the same source: it used more memory than it may, received frames larger than it decodes, or crashed soon after its start. The video of this session is not transcoded any more, unless its size changes.',
    remedy: 'Publish at most 4096x2304, with ordinary encoder settings, and start the stream again.',
  },
  transcode_rendition_shed: {
    severity: 'issue',
    lastsS: undefined,
    sentence: ({ renditions }: RenditionDetails) =>
      `the server is too busy to make every rendition; paused for now: ${renditions.join(', ')}`,
    meaning:
      'The transcoder lagged more than a second behind the source, so it paused these renditions, the largest first. It resumes them once it has kept up for a while.',
    remedy:
      'Use fewer or smaller profiles, or a lower frame rate. The operator can put fewer streams on the machine, or set a faster `MILLRACE_TRANSCODE_PRESET`.',
  },
  transcode_rendition_failed: {
    severity: 'issue',
    lastsS: undefined,
    sentence: ({ renditions }: RenditionDetails) =>
      `profiles left out, because their video could not be encoded: ${renditions.join(', ')}; give them a usual size, bitrate, frame rate and H.264 profile`,
    meaning:
      'The encoder refused what these profiles ask for, or failed while it encoded. Their renditions are left out until the source changes its format. All other renditions go on.',
    remedy:
      'Give these profiles a usual size, bitrate, frame rate and H.264 profile, and start the stream again. If they are usual, report it, with the profiles.',
  },
  transcode_rendition_restored: {
    severity: 'notice',
    lastsS: MOMENT_S,
    sentence: ({ renditions }: RenditionDetails) => `these renditions have resumed: ${renditions.join(', ')}`,
    meaning: 'Renditions that were paused have resumed.',
    remedy: 'Nothing.',
  },
  transcode_frames_dropped: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'the server is too busy; the renditions lost some frames',
    meaning:
      'The transcoder lagged so far behind that it skipped to a later keyframe. The source rendition lost nothing.',
    remedy: 'The same as for `transcode_rendition_shed`.',
  },
  transcode_source_damaged: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'parts of the video or of the Opus audio cannot be decoded; check the encoder and its connection',
    meaning:
      'A decoder received packets of video or of Opus audio that break the rules of their codec. AAC that is made of such audio has a gap. AAC that the publisher sends is not decoded.',
    remedy:
      'Restart the encoder, try other settings or another encoder (the driver of a hardware encoder is a common cause), and check the capture device.',
  },
  transcode_restarted: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'the transcoder was restarted; the renditions paused for a moment',
    meaning:
      'The process that makes the renditions crashed, hung, or took too much memory, and was replaced. The source rendition lost nothing.',
    remedy:
      'The operator finds the reason in the log (`transcoder lost its worker`). If it happens again and again with the same source, report it, with a file of the first minutes of that source.',
  },
} as const satisfies Record<string, WarningEntry>;

/** A code of {@link WARNINGS}. */
export type WarningCode = keyof typeof WARNINGS;

type DetailsOf<Code extends WarningCode> =
  Parameters<(typeof WARNINGS)[Code]['sentence']> extends [infer Details] ? Details : unknown;

/** A warning with what its sentence needs. */
export type Warning = { [Code in WarningCode]: { readonly code: Code } & DetailsOf<Code> }[WarningCode];

/** The sentence of a warning, for people. */
export function warningSentence(warning: Warning): string {
  const sentence: (details: never) => string = WARNINGS[warning.code].sentence;
  return sentence(warning as never); // the type of Warning pairs each code with its details
}

/** What a warning measured. Undefined for one that is not about a number. */
export function measuredOf(warning: Warning): Measured | undefined {
  const entry: WarningEntry = WARNINGS[warning.code];
  return entry.measured?.(warning as never); // the type of Warning pairs each code with its details
}
