/**
 * The observed behaviour of a real player: which frames of the test publisher it shows, whether it ended, and its errors.
 */

/** A frame as a player showed it. */
export interface ShownFrame {
  /** Wall clock when it was shown, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** Number of the frame since its publisher started. */
  readonly counter: number;
  /** Wall clock when the publisher drew it, in milliseconds since the Unix epoch. */
  readonly drawnAtMs: number;
}

/** What a player did so far. */
export interface PlayerReport {
  /** The latest frames, oldest first; at most {@link MAX_FRAMES}. */
  readonly frames: readonly ShownFrame[];
  /**
   * Whether the player reported the end of the stream: the `ended` event of a browser's player, or an exit of a program without an error.
   */
  readonly ended: boolean;
  /** Wall clock when it reported the end, in milliseconds since the Unix epoch. Undefined before that. */
  readonly endedAtMs?: number | undefined;
  /** Errors after which the player gives up, in its own words. */
  readonly fatal: readonly string[];
  /** Errors after which the player continues, for a person to read. */
  readonly complaints: readonly string[];
  /** The state of a browser's video element, for a person to read. */
  readonly state?: string;
}

/** The report of a player that is a program. It saw the end if it exited without an error. The lists are copied. */
export function reportOf(seen: Omit<PlayerReport, 'ended'>): PlayerReport {
  const { frames, endedAtMs, fatal, complaints } = seen;
  return {
    frames: [...frames],
    ended: endedAtMs !== undefined,
    endedAtMs,
    fatal: [...fatal],
    complaints: [...complaints],
  };
}

/** Frames remembered for each player: more than three minutes at 15 frames a second. */
export const MAX_FRAMES = 3000;

/** A player that plays one playlist until disposed. */
export interface Playing extends AsyncDisposable {
  report(): Promise<PlayerReport>;
}

/** A kind of player. */
export interface Player {
  readonly name: string;
  /** Starts to play the multivariant playlist at a URL, with the player's own settings. */
  readonly play: (url: string) => Promise<Playing>;
}
