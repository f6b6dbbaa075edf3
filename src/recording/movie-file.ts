/**
 * Makes an MP4 from the index of a recording: its head, and a list of the byte ranges in volumes that are its body. Runs in a reader
 * thread.
 */
import { createHash } from 'node:crypto';
import { movieHead } from '#media/mp4/movie.ts';
import { type CutSpan, cutMovie } from './movie-cut.ts';
import type { MediaRanges } from './movie-layout.ts';
import { readSamples, type SampleRequest } from './sample-reader.ts';

/** Which MP4 is to be made. */
export interface MovieRequest extends SampleRequest {
  /** Identifies the recording. */
  readonly recording: string;
  /** In session time. */
  readonly span: CutSpan;
}

/** The head of an MP4, and where its media is. */
export interface MovieFile {
  readonly head: Uint8Array<ArrayBuffer>;
  /** The ids of the renditions to which {@link MediaRanges.renditions} refers. */
  readonly renditions: readonly string[];
  readonly ranges: MediaRanges;
  /** The same for the same file, without quotation marks. */
  readonly etag: string;
}

/**
 * Makes an MP4.
 * @param files the index files of the recording, in order
 * @param request its renditions are the video, the audio, or both in this order
 * @returns undefined when there is no frame in the span
 * @throws {MalformedMp4Error} when an init segment is damaged
 */
export function makeMovie(files: readonly Uint8Array[], request: MovieRequest): MovieFile | undefined {
  const found = readSamples(files, request);
  // Without its first rendition this would not be the movie that was asked for.
  if (found[0] === undefined) return undefined;
  const samples = found.filter((each) => each !== undefined);
  const renditions = request.renditions.filter((_, index) => found[index] !== undefined);
  const cut = cutMovie(samples, request.span);
  if (cut === undefined) return undefined;
  const head = movieHead(cut.tracks, cut.ranges.positions.at(-1)!);
  // The head states the size and the place of every sample. So the head and the recording together identify the bytes that follow.
  const identity = [request.recording, ...renditions].join('/');
  const etag = createHash('sha256').update(identity).update('\0').update(head).digest('base64url').slice(0, 22);
  return { head, renditions, ranges: cut.ranges, etag };
}
