/**
 * Decides which span of a recording a clip shows. A pure rule.
 */
import { MillraceError } from '#domain/errors.ts';
import { type Milliseconds, ms } from '#lib/units.ts';

/** The span that a request names, in wall-clock milliseconds of the media. */
export interface RequestedSpan {
  readonly startTime: number;
  /** Undefined means now. */
  readonly endTime: number | undefined;
}

/** What can be clipped. */
export interface ClippableSpan {
  /** Undefined while nothing is recorded. */
  readonly fromMs: Milliseconds | undefined;
  readonly untilMs: Milliseconds | undefined;
  /** Whether more may be recorded. A clip up to the present then ends with what is recorded by now. */
  readonly isGrowing: boolean;
}

/** The span of a clip. */
export interface ClipSpan {
  readonly fromMs: Milliseconds;
  readonly untilMs: Milliseconds;
}

/**
 * The span of a clip.
 * @throws {MillraceError} `invalid_body` when it does not end after its start, `clip_out_of_range` when it is not within what is recorded
 */
export function clipSpan({ startTime, endTime }: RequestedSpan, recorded: ClippableSpan, now: Milliseconds): ClipSpan {
  if (endTime !== undefined && endTime <= startTime) {
    throw new MillraceError('invalid_body', 'The field endTime must be after startTime; send a later time.');
  }
  const { fromMs, untilMs, isGrowing } = recorded;
  if (fromMs === undefined || untilMs === undefined || untilMs <= fromMs) {
    throw new MillraceError('clip_out_of_range', 'Nothing is recorded yet; try again in a few seconds.');
  }
  // Clients see whole milliseconds. The frames at both ends belong to the recording whichever way they were rounded.
  const [first, last] = [Math.floor(fromMs), Math.ceil(untilMs)];
  const isUpToNow = endTime === undefined || (isGrowing && endTime <= now);
  const end = isUpToNow ? Math.min(endTime ?? last, last) : endTime;
  const wrong = startTime < first || startTime >= last ? 'startTime' : end > last ? 'endTime' : undefined;
  if (wrong !== undefined) {
    throw new MillraceError(
      'clip_out_of_range',
      `The field ${wrong} is outside of what is recorded; send times from ${first} to ${last}.`,
    );
  }
  return { fromMs: ms(startTime), untilMs: ms(end) };
}
