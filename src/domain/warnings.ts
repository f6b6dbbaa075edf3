/**
 * The catalogue of warnings: what a session may report to its owner about the publisher's media, or about how it is processed.
 */

/** An `issue` makes its session unhealthy; a `notice` only explains what viewers see. */
export type WarningSeverity = 'issue' | 'notice';

/** An entry of the catalogue. */
interface WarningEntry {
  readonly severity: WarningSeverity;
  /** Seconds for which a warning of an event is shown. Undefined for a warning of a state, which is shown until the state ends. */
  readonly lastsS: number | undefined;
  /** What happens and what to do, in plain words. */
  readonly sentence: (details: never) => string;
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

interface RenditionDetails {
  /** Names of the profiles concerned; at least one. */
  readonly renditions: readonly string[];
}

interface SourceDetails {
  /** What common players cannot decode, each completing "the video has"; at least one. */
  readonly properties: readonly string[];
}

/** Seconds for which most warnings of an event are shown. */
const MOMENT_S = 60;

/** Every warning. The code is part of the interface: add, never rename. */
export const WARNINGS = {
  recording_not_supported: {
    severity: 'notice',
    lastsS: undefined,
    sentence: () => 'nothing is recorded: `record` is stored, but recording is not supported yet',
    meaning:
      'The stream has `record: true`, which is stored for later versions. This version of Millrace records nothing. A stream with `record: true` carries this warning in `warnings` at all times, and its sessions carry it in their health.',
    remedy: 'Record elsewhere, for example in the encoder, and set `record` to false if the warning is in the way.',
  },
  keyframe_interval_too_long: {
    severity: 'issue',
    // Longer than the time between two such segments of a publisher that does not change.
    lastsS: 30,
    sentence: ({ intervalS, open }: KeyframeDetails) =>
      `${open ? 'no keyframe for' : 'keyframe every'} ${intervalS.toFixed(1)} s; set the encoder to 2 s`,
    meaning:
      'A segment had to be cut where the source has no keyframe: the source rendition cannot be started there, so players begin later and switch later. Renditions of profiles have keyframes of their own.',
    remedy: "Set the encoder's keyframe interval to 2 s (OBS: Output, Keyframe Interval; ffmpeg: `-g` twice the rate).",
  },
  timestamps_jumped: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'the timestamps jumped by more than a second; viewers saw a short break',
    meaning:
      'The timestamps of the source went back, or jumped forward by more than a second. The stream continued at the next keyframe, after a discontinuity.',
    remedy:
      'Check what feeds the encoder: a file that loops, a scene that starts a new clock, or a computer that was asleep. Update the encoder.',
  },
  source_not_widely_playable: {
    severity: 'issue',
    lastsS: undefined,
    sentence: ({ properties }: SourceDetails) =>
      `many players cannot play the source: the video has ${properties.join(' and ')}; set the encoder to 8-bit 4:2:0, profile High or lower`,
    meaning:
      'The source rendition is passed on as it is, and its profile, level, chroma format or bit depth is beyond what phones, Safari and hardware decoders play. Renditions of profiles are 8-bit 4:2:0 and play everywhere.',
    remedy:
      'Set the encoder to 8-bit 4:2:0 and profile High, Main or Baseline, level 5.2 at most (OBS: Settings, Advanced, Color Format NV12; ffmpeg: `-pix_fmt yuv420p`; GStreamer: `video/x-raw,format=I420` before the encoder).',
  },
  profile_larger_than_source: {
    severity: 'notice',
    lastsS: undefined,
    sentence: ({ renditions }: RenditionDetails) => `larger than the source and left out: ${renditions.join(', ')}`,
    meaning: 'These profiles ask for larger frames than the source has. Frames are never enlarged.',
    remedy:
      'Nothing, if the size of the source is intended: viewers get the source as the best rendition. Otherwise publish a larger size.',
  },
  transcode_limit_reached: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () => 'only the source plays: the server is already transcoding as many streams as it is allowed to',
    meaning:
      'The server already transcodes `MILLRACE_TRANSCODE_MAX` streams. Until one of them ends, there are no renditions, and no audio where the publisher sends Opus.',
    remedy:
      'Wait until another stream has ended. The operator can raise the limit if the machine has CPU left, or use a larger machine.',
  },
  transcode_quota_reached: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () => 'only the source plays: this user already has as many transcoded streams as its quota allows',
    meaning:
      'The user of the stream already has as many transcoded sessions as its quota allows. Until another one ends there are no renditions, and no audio where the publisher sends Opus.',
    remedy: 'End another stream, or ask an admin for a larger `transcodes` quota.',
  },
  transcode_unavailable: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () => 'only the source plays: this server cannot transcode',
    meaning:
      'FFmpeg is not installed on the server, so there are no renditions, and no audio where the publisher sends Opus.',
    remedy:
      'The operator must install Millrace without `--omit=optional`, because that option leaves out the package with FFmpeg.',
  },
  transcode_source_refused: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () => 'only the source plays: decoding this video has ended the transcoder twice',
    meaning:
      'Twice with the same source, the transcoder used more memory than it may, received frames larger than it decodes, or crashed soon after its start. The video of this session is not transcoded any more, unless its size changes.',
    remedy: 'Publish at most 4096x2304, with ordinary encoder settings, and start the stream again.',
  },
  transcode_rendition_shed: {
    severity: 'issue',
    lastsS: undefined,
    sentence: ({ renditions }: RenditionDetails) =>
      `the server is too busy for all renditions; not made for now: ${renditions.join(', ')}`,
    meaning:
      'The transcoder lagged more than a second behind the source, so it paused these renditions, the largest first. It resumes them when it has kept up for a while.',
    remedy:
      'Use fewer or smaller profiles, or a lower frame rate. The operator can put fewer streams on the machine, or set a faster `MILLRACE_TRANSCODE_PRESET`.',
  },
  transcode_rendition_restored: {
    severity: 'notice',
    lastsS: MOMENT_S,
    sentence: ({ renditions }: RenditionDetails) => `made again: ${renditions.join(', ')}`,
    meaning: 'A rendition that had been paused is made again.',
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
    sentence: () => 'parts of the video cannot be decoded; check the encoder and its connection',
    meaning: 'The decoder received packets that break the rules of their codec.',
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
      'The operator finds the reason in the log (`transcoder lost its worker`). If it happens again and again with one source, keep the first minutes of that source and report it.',
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
