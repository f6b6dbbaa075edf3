/**
 * MP4s that are stored nowhere: the head is made from the index of a recording, and the body is the bytes of the recording's volumes.
 */
import { LRUCache } from 'lru-cache';
import { MillraceError } from '#domain/errors.ts';
import type { MediaPath } from '#domain/ids.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { volumeName } from './index-file.ts';
import type { MovieFile, MovieRequest } from './movie-file.ts';
import { LITERAL } from './movie-layout.ts';
import { movieSpan } from './needed-segments.ts';
import type { RecordingFileReader } from './reader/reader.ts';
import { firstIndex } from './recorded-samples.ts';
import type { Excerpt, MovieViewer, VirtualFile } from './recording.ts';
import type { RecordedRendition, RecordedSegment, RecordingIndex } from './recording-index.ts';
import { SentHeads } from './sent-heads.ts';

/** The most memory that heads take while they are kept for the next viewer. The head of four hours takes 11 MB. */
const MAX_HEAD_BYTES = 32 * 1024 * 1024;
/** The most memory that maps take while they are kept. A map states where the media of an MP4 is. That of four hours takes 300 kB. */
const MAX_MAP_BYTES = 16 * 1024 * 1024;
/** The most bytes that are read at once. */
const PIECE_BYTES = 256 * 1024;

/** The memory that an entry of a cache takes besides its content. */
const ENTRY_BYTES = 1024;
/** The bytes that a map takes per range: one entry in each typed array of `MediaRanges`. */
const RANGE_BYTES = 8 + 1 + 4 + 8;

/** The rendition whose audio goes with every video rendition. */
const AUDIO = 'audio';

/** A recording of which MP4s are made. */
export interface MovieSource {
  /** Its path, which identifies it. */
  readonly path: MediaPath;
  /** The wall-clock time of session time 0. */
  readonly epoch: Milliseconds;
  readonly index: RecordingIndex;
  readonly reader: Pick<RecordingFileReader, 'movie' | 'read'>;
}

/** States where the media of an MP4 is. */
type MovieMap = Omit<MovieFile, 'head'> & { readonly headBytes: number };

/** Makes MP4s, and keeps the heads of those that were used last in memory. */
export class VirtualMp4s {
  readonly #heads: LRUCache<string, Uint8Array>;
  readonly #sent: SentHeads;
  readonly #maps = new LRUCache<string, MovieMap>({
    maxSize: MAX_MAP_BYTES,
    sizeCalculation: ({ ranges }) => ENTRY_BYTES + RANGE_BYTES * ranges.volumes.length,
  });
  /** MP4s that are being made, so that all who ask for the same one wait for it together. */
  readonly #making = new Map<string, Promise<MovieFile | undefined>>();

  /**
   * @param maxHeadBytes the most memory that heads take while they are kept
   * @param sent the heads that are being sent
   */
  constructor(maxHeadBytes = MAX_HEAD_BYTES, sent = new SentHeads()) {
    this.#heads = new LRUCache({ maxSize: maxHeadBytes, sizeCalculation: ({ length }) => ENTRY_BYTES + length });
    this.#sent = sent;
  }

  /** @see {Recorded.mp4} */
  async open(
    source: MovieSource,
    rendition: string,
    excerpt: Excerpt,
    { address, inTurn }: MovieViewer,
  ): Promise<VirtualFile | undefined> {
    const request = movieRequest(source, rendition, excerpt);
    if (request === undefined) return undefined;
    const { from, until } = request.span;
    const key = [source.path, rendition, from, until].join();
    const make = () => this.#make(key, source, request, address);
    // Another viewer may have made it while this one waited for its turn.
    const opened = this.#maps.get(key) ?? (await inTurn(async () => this.#maps.get(key) ?? (await make())));
    if (opened === undefined) return undefined;
    const isMade = 'head' in opened;
    return new VirtualMp4(source, isMade ? mapOf(opened) : opened, {
      made: isMade ? opened.head : undefined,
      headOf: async () =>
        this.#heads.get(key) ?? (await inTurn(async () => this.#heads.get(key) ?? (await make())?.head)),
      send: (head, onLost) => this.#sent.send(head, address, onLost),
    });
  }

  async #make(
    key: string,
    source: MovieSource,
    request: MovieRequest,
    address: string,
  ): Promise<MovieFile | undefined> {
    const making =
      this.#making.get(key) ??
      source.reader.movie(source.path, request, address).finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    const movie = await making;
    if (movie !== undefined) {
      this.#heads.set(key, movie.head);
      this.#maps.set(key, mapOf(movie));
    }
    return movie;
  }
}

function mapOf(movie: MovieFile): MovieMap {
  const { head, ...rest } = movie;
  return { ...rest, headBytes: head.length };
}

/** How an MP4 gets its head. */
interface HeadSource {
  /** The head, if it was made just now. A large one is not kept anywhere else. */
  readonly made: Uint8Array | undefined;
  /** Returns the head that is kept, or makes it again. */
  readonly headOf: () => Promise<Uint8Array | undefined>;
  /** Counts the memory of the head while it is sent; see {@link SentHeads.send}. */
  readonly send: (head: Uint8Array, onLost: () => void) => Disposable;
}

/** An MP4 whose head may have to be made again while it is read. */
class VirtualMp4 implements VirtualFile {
  readonly sizeBytes: number;
  readonly etag: string;
  readonly #source: MovieSource;
  readonly #map: MovieMap;
  readonly #head: Omit<HeadSource, 'made'>;
  readonly #lost = new AbortController();
  /** The head that was just made. Only the first read uses it, so that it is not kept any longer. */
  #made: Uint8Array | undefined;

  constructor(source: MovieSource, map: MovieMap, { made, ...head }: HeadSource) {
    this.#source = source;
    this.#map = map;
    this.#head = head;
    this.#made = made;
    this.sizeBytes = map.headBytes + map.ranges.positions.at(-1)!;
    this.etag = map.etag;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async *read(from: number, until: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const { headBytes } = this.#map;
    const made = this.#made;
    this.#made = undefined;
    if (from < Math.min(until, headBytes)) yield* this.#readHead(from, Math.min(until, headBytes), made);
    let at = Math.max(from, Math.min(until, headBytes));
    while (at < until) {
      signal.throwIfAborted();
      const piece = await this.#mediaAt(at - headBytes, until - headBytes, signal);
      at += piece.length;
      yield piece;
    }
  }

  async *#readHead(from: number, until: number, made?: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
    const head = made ?? (await this.#head.headOf());
    if (head?.length !== this.#map.headBytes) {
      throw new MillraceError('recording_unavailable', 'The recording has changed while it was read; load it again.');
    }
    using _memory = this.#head.send(head, () => this.#lost.abort(lostHead()));
    for (let at = from; at < until; at += PIECE_BYTES) {
      this.#lost.signal.throwIfAborted();
      // A copy, because a piece that waits in a connection would keep all of the head in memory.
      yield head.slice(at, Math.min(at + PIECE_BYTES, until));
    }
  }

  /** Reads media data from position `at` on: a piece that ends with its range at the latest. */
  async #mediaAt(at: number, until: number, signal: AbortSignal): Promise<Uint8Array> {
    const { ranges, renditions } = this.#map;
    const index = firstIndex(ranges.volumes.length, (range) => ranges.positions[range + 1]! > at);
    const end = Math.min(until, ranges.positions[index + 1]!, at + PIECE_BYTES);
    const offset = ranges.offsets[index]! + at - ranges.positions[index]!;
    const volume = ranges.volumes[index]!;
    const rendition = ranges.renditions[index]!;
    if (rendition === LITERAL) return ranges.literals[volume]!.subarray(offset, offset + end - at);
    const name = volumeName(renditions[rendition]!, volume);
    return await this.#source.reader.read(this.#source.path, name, offset, offset + end - at, signal);
  }
}

function lostHead(): MillraceError {
  return new MillraceError(
    'too_many_viewers',
    'The server needed the memory that held this file; load the file again.',
  );
}

/**
 * How far the newest part must reach beyond the end of a movie. By then all frames that are shown before that end have arrived, although
 * encoders reorder frames, and the frame after the last one shows how long the last one lasts.
 */
const REORDERING_MS = 500;

/** @see {Recorded.mp4End} */
export function movieEnd(index: RecordingIndex, rendition: string): Milliseconds | undefined {
  const tracks = tracksOf(index, rendition);
  const first = tracks[0]?.segments.at(0);
  if (first === undefined) return undefined;
  const newest = Math.min(...tracks.map(({ segments }) => endOf(segments.at(segments.count - 1))));
  const whole = Math.min(...tracks.map(({ segments, completeCount }) => endOf(segments.at(completeCount - 1))));
  const end = Math.floor(index.hasEnded ? newest : Math.max(whole, newest - REORDERING_MS));
  return end > first.programDateTimeMs ? ms(end) : undefined;
}

const endOf = (segment: RecordedSegment | undefined): number =>
  segment === undefined ? -Infinity : segment.programDateTimeMs + segment.durationS * 1000;

/** The rendition and, for a video rendition, the audio. Empty when there is no such rendition. */
function tracksOf(index: RecordingIndex, rendition: string): readonly RecordedRendition[] {
  const leader = index.rendition(rendition);
  if (leader === undefined) return [];
  const audio = leader.track.kind === 'audio' ? undefined : index.rendition(AUDIO);
  return audio === undefined ? [leader] : [leader, audio];
}

/** The request for the MP4 of an excerpt. Undefined when there is no such rendition, or nothing of it in the excerpt. */
function movieRequest(
  { index, epoch, path }: MovieSource,
  rendition: string,
  excerpt: Excerpt,
): MovieRequest | undefined {
  const tracks = tracksOf(index, rendition);
  const [leader] = tracks;
  const end = index.hasEnded ? Infinity : movieEnd(index, rendition);
  if (leader === undefined || end === undefined) return undefined;
  const fromMs = excerpt.fromMs ?? -Infinity;
  const untilMs = Math.min(excerpt.untilMs ?? Infinity, end);
  const needed = movieSpan(leader, { fromMs: excerpt.fromMs, untilMs: untilMs === Infinity ? undefined : ms(untilMs) });
  if (needed === undefined || fromMs >= untilMs) return undefined;
  const [fromSegment, untilSegment] = [needed.first, needed.last + 1];
  return {
    recording: path,
    renditions: tracks.map(({ id }) => id),
    fromSegment,
    untilSegment,
    expectedSamples: tracks.map((track) => expectedSamples(track, untilSegment - fromSegment)),
    // A frame counts as shown at the nearest whole millisecond.
    span: { from: (fromMs - epoch - 0.5) / 1000, until: (untilMs - epoch - 0.5) / 1000 },
  };
}

/** About how many samples `wanted` segments have: a tenth more than the average, and no more than the rendition has. */
function expectedSamples({ data, segments }: RecordedRendition, wanted: number): number {
  const average = data.samples / Math.max(1, segments.count);
  return Math.ceil(Math.min(data.samples, 1.1 * average * wanted));
}
