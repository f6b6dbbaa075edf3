/**
 * The catalogue of warnings: what a session may have to tell its owner about the publisher's media or our work on it.
 */

/** An `issue` makes its session unhealthy; a `notice` only explains what is to be seen. */
export type WarningSeverity = 'issue' | 'notice';

/** What the catalogue says of a warning. */
interface WarningEntry {
  readonly severity: WarningSeverity;
  /** It tells of a moment, and counts for so long after it; undefined: it tells of a state, and is taken back. */
  readonly lastsS: number | undefined;
  /** What happens, and the way out, in plain words. */
  readonly sentence: (details: never) => string;
  /** For the docs: what has been seen. */
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

/** How long a moment counts. */
const MOMENT_S = 60;

/** Every warning. The code is part of the interface: add, never rename. */
export const WARNINGS = {
  keyframe_interval_too_long: {
    severity: 'issue',
    // Between two such segments of a publisher that does not change there is less.
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
      'The timestamps of the source went back, or more than a second further than the sound or the clock. It went on at the next keyframe, behind a discontinuity.',
    remedy:
      'Look at what feeds the encoder: a file that loops, a scene that starts a new clock, a computer that was asleep. Update the encoder.',
  },
  profile_larger_than_source: {
    severity: 'notice',
    lastsS: undefined,
    sentence: ({ renditions }: RenditionDetails) => `larger than the source and left out: ${renditions.join(', ')}`,
    meaning: 'These profiles ask for a larger picture than the source has. Pictures are never enlarged.',
    remedy: 'Nothing, if the source is as meant: it is its own best rendition. Else publish a larger picture.',
  },
  transcode_limit_reached: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () => 'only the source plays: this server transcodes as many streams as it may',
    meaning:
      'The server already runs `MILLRACE_TRANSCODE_MAX` transcodes. Until another ends there are no renditions, and no sound where the publisher sends Opus.',
    remedy:
      'Wait until another stream has ended. The operator: raise the limit if the machine has CPU left, or use a larger one.',
  },
  transcode_quota_reached: {
    severity: 'issue',
    lastsS: undefined,
    sentence: () => 'only the source plays: this account transcodes as many streams as it may',
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
    remedy: 'The operator: install Millrace without `--omit=optional`, which leaves the package with FFmpeg out.',
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
      'The transcoder fell more than a second behind, and gave up these renditions, the largest first. They are tried again when it has kept up for a while.',
    remedy:
      'Fewer or smaller profiles, a lower frame rate. The operator: fewer streams on the machine, a faster `MILLRACE_TRANSCODE_PRESET`.',
  },
  transcode_rendition_restored: {
    severity: 'notice',
    lastsS: MOMENT_S,
    sentence: ({ renditions }: RenditionDetails) => `made again: ${renditions.join(', ')}`,
    meaning: 'A rendition that had been given up is made again.',
    remedy: 'Nothing.',
  },
  transcode_frames_dropped: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'the server is too busy; pictures of the renditions were left out',
    meaning: 'The transcoder was so far behind that it went on at a later keyframe. The source rendition lost nothing.',
    remedy: 'As for `transcode_rendition_shed`.',
  },
  transcode_source_damaged: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'parts of the video cannot be decoded; look at the encoder and the connection to it',
    meaning: 'The decoder met packets that break the rules of their codec.',
    remedy:
      "Restart the encoder, try another one or other settings (a hardware encoder's driver is a common cause), and look at the capture device.",
  },
  transcode_restarted: {
    severity: 'issue',
    lastsS: MOMENT_S,
    sentence: () => 'the transcoder was restarted; the renditions paused for a moment',
    meaning:
      'The process that makes the renditions crashed, hung, or took too much memory, and was replaced. The source rendition lost nothing.',
    remedy:
      "The operator: the log says why (`transcoder lost its worker`). If it happens again and again with one source, keep that source's first minutes and report it.",
  },
} as const satisfies Record<string, WarningEntry>;

/** A code of {@link WARNINGS}. */
export type WarningCode = keyof typeof WARNINGS;

type DetailsOf<Code extends WarningCode> =
  Parameters<(typeof WARNINGS)[Code]['sentence']> extends [infer Details] ? Details : unknown;

/** A warning with what its sentence needs. */
export type Warning = { [Code in WarningCode]: { readonly code: Code } & DetailsOf<Code> }[WarningCode];

/** What a person reads. */
export function warningSentence(warning: Warning): string {
  const sentence: (details: never) => string = WARNINGS[warning.code].sentence;
  return sentence(warning as never); // its own entry's details, by the type of Warning
}
