/**
 * Makes an MP4 from the index of a recording: its head, and which bytes of which files are its body. Runs in a reader thread.
 */
import { createHash } from 'node:crypto';
import { movieHead } from '#media/mp4/movie.ts';
import { type CutSpan, cutMovie } from './movie-cut.ts';
import type { MediaRanges } from './movie-layout.ts';
import { readSamples, type SampleRequest } from './sample-reader.ts';

/** What is to be made. */
export interface MovieRequest extends SampleRequest {
  /** What tells the recording from all others. */
  readonly recording: string;
  /** In session time. */
  readonly span: CutSpan;
}

/** An MP4 without its media. */
export interface MovieFile {
  readonly head: Uint8Array<ArrayBuffer>;
  /** The renditions that {@link MediaRanges.renditions} means. */
  readonly renditions: readonly string[];
  readonly ranges: MediaRanges;
  /** The same for the same file. */
  readonly etag: string;
}

/**
 * Makes a movie.
 * @param files the index files of the recording, in order
 * @param request with the video, the audio, or both in this order
 * @returns undefined when there is no frame in the span
 * @throws {MalformedMp4Error} when an init segment is damaged
 */
export function makeMovie(files: readonly Uint8Array[], request: MovieRequest): MovieFile | undefined {
  const found = readSamples(files, request);
  // Without its leader a movie would be another one than was asked for.
  if (found[0] === undefined) return undefined;
  const samples = found.filter((each) => each !== undefined);
  const renditions = request.renditions.filter((_, index) => found[index] !== undefined);
  const cut = cutMovie(samples, request.span);
  if (cut === undefined) return undefined;
  const head = movieHead(cut.tracks, cut.ranges.positions.at(-1)!);
  // The head states the length of every sample, and where it is. So it says which bytes follow, as long as it is known of which recording.
  const identity = [request.recording, ...renditions].join('/');
  const etag = createHash('sha256').update(identity).update('\0').update(head).digest('base64url').slice(0, 22);
  return { head, renditions, ranges: cut.ranges, etag };
}
