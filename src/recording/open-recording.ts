/**
 * A recording that is open: its playlists, media and pictures. A running recording's index is in memory, and its media is read from the
 * files that the recorder writes.
 */
import { crc32 } from 'node:zlib';
import type { MediaPath } from '#domain/ids.ts';
import type { RenderedPlaylist } from '#hls/hls.ts';
import { renderMultivariantPlaylist } from '#hls/multivariant-playlist.ts';
import { PlaylistText } from '#hls/rendered-playlist.ts';
import { pause } from '#lib/pause.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { joinTiles, TILES_PER_SHEET } from '#media/tile-sheet.ts';
import { extentOf, secondsIn } from './extent.ts';
import { volumeName } from './index-file.ts';
import { isCompleteSoon, isExcerptComplete, playlistSpan, type SegmentSpan } from './needed-segments.ts';
import { type PlacedPicture, picturesName } from './picture-file.ts';
import { posterAt, type SessionSpan, type StoryboardTile, tilesOf } from './pictures.ts';
import { publicPlaylist } from './public-playlist.ts';
import type { RecordingFileReader } from './reader/reader.ts';
import { RecordedPlaylists, recordedInitName, recordedSegmentName } from './recorded-playlists.ts';
import type {
  ByteSource,
  Excerpt,
  MovieViewer,
  Recorded,
  RecordedMedia,
  RecordingExtent,
  VirtualFile,
} from './recording.ts';
import type { RecordedRendition, RecordingIndex } from './recording-index.ts';
import type { Stills } from './stills.ts';
import { storyboardOf } from './storyboard.ts';
import { movieEnd, type VirtualMp4s } from './virtual-mp4.ts';

/** The memory of an open recording: its own, and that of each picture and each segment of a rendition, with its lines in playlists. */
const OPEN_BYTES = { recording: 8192, picture: 100, segment: 200 } as const;
/** How long the end of an excerpt is waited for, in target durations: one for its last segment, and one for renditions that lag. */
const COMPLETED_WITHIN_TARGETS = 2;
/** The pause between two checks whether the end is there, in milliseconds. */
const LOOK_MS = 100;
/** The most bytes that are read at once. */
const PIECE_BYTES = 256 * 1024;
/** How many of the newest periods may have open files, which may not be durable: renditions begin a period one after another. */
const OPEN_PERIODS = 2;
/** The most bytes of a segment that are read for a picture of its first frame. */
const MAX_KEYFRAME_BYTES = 2 * 1024 * 1024;

/**
 * The answer to players that load a segment although it is listed as a gap: an empty `free` box. With a 404 instead, GStreamer 1.22 would
 * end playback, and ffmpeg 5 would retry and print errors.
 */
const EMPTY_SEGMENT = Buffer.from('\0\0\0\x08free', 'latin1');

/** What all open recordings share. */
export interface Shelf {
  readonly stills: Stills;
  readonly reader: RecordingFileReader;
  readonly movies: VirtualMp4s;
}

/** What a recording is read from. */
interface RecordingSource {
  readonly epoch: Milliseconds;
  readonly targetDurationS: number;
  /** The owner of the index: a recorder, which may replace it, or an object that only holds the index of a recording that does not run. */
  readonly recording: { readonly index: RecordingIndex };
  /** Whether the index may still grow, because the recording was running when it was opened. */
  readonly mayGrow: boolean;
}

/** A recording that is open. */
export class OpenRecording implements Recorded {
  readonly epoch: Milliseconds;
  readonly #path: MediaPath;
  readonly #source: RecordingSource;
  readonly #shelf: Shelf;
  readonly #playlists = new Map<string, RecordedPlaylists>();
  /** The newest excerpt of each rendition while the recording runs, and what it was made from: those who follow it load it again and again. */
  readonly #excerpts = new Map<string, { readonly of: string; readonly playlist: PlaylistText }>();
  /** Playlists whose media is not at this server, by the playlist that each was made from. */
  readonly #public = new WeakMap<RenderedPlaylist, Promise<RenderedPlaylist>>();

  constructor(path: MediaPath, source: RecordingSource, shelf: Shelf) {
    this.epoch = source.epoch;
    this.#path = path;
    this.#source = source;
    this.#shelf = shelf;
  }

  /** Whether this recorder writes the recording. */
  isOf(recorder: object): boolean {
    return this.#source.recording === recorder;
  }

  get hasEnded(): boolean {
    return this.#index.hasEnded;
  }

  /** About how much memory the recording takes while it is open, in bytes. */
  get memoryBytes(): number {
    const { renditions, pictures } = this.#index;
    const segments = renditions.reduce((sum, rendition) => sum + rendition.segments.count, 0);
    const { recording, picture, segment } = OPEN_BYTES;
    return recording + picture * pictures.length + segment * segments;
  }

  get isRunning(): boolean {
    return !this.hasEnded;
  }

  get extent(): RecordingExtent {
    return extentOf(this.#index);
  }

  secondsIn(excerpt: Excerpt): number {
    return secondsIn(this.#index, excerpt);
  }

  get #index(): RecordingIndex {
    return this.#source.recording.index;
  }

  multivariant(query: string): string {
    const listed = this.#index.listed.filter(({ completeCount }) => completeCount > 0);
    return renderMultivariantPlaylist(
      listed.map((rendition) => {
        const { id, track, averageBps, framesPerSecond, data } = rendition;
        const bitrates = { averageBps, peakBps: Math.max(averageBps, data.peakBps) };
        const common = { uri: `${id}.m3u8${query}`, codecString: track.rfc6381, bitrates };
        if (track.kind === 'audio') return { ...common, kind: 'audio', name: id, channels: track.channels };
        const { width, height, videoRange } = track;
        return { ...common, kind: 'video', width, height, framesPerSecond, videoRange };
      }),
    );
  }

  async completed(excerpt: Excerpt, signal: AbortSignal): Promise<void> {
    const { mayGrow, targetDurationS } = this.#source;
    const turns = (COMPLETED_WITHIN_TARGETS * targetDurationS * 1000) / LOOK_MS;
    for (let turn = 0; mayGrow && turn < turns && isCompleteSoon(this.#index, excerpt); turn += 1) {
      await pause(LOOK_MS, signal);
      signal.throwIfAborted();
    }
  }

  async prepare(id: string): Promise<void> {
    const rendition = this.#index.rendition(id);
    if (rendition !== undefined) await this.#playlistsOf(id).prepare(this.#index, rendition);
  }

  publicPlaylist(id: string, playlist: RenderedPlaylist, mediaUrl: string): Promise<RenderedPlaylist> {
    const rendition = this.#index.rendition(id);
    if (this.isRunning || rendition === undefined) return Promise.resolve(playlist);
    let made = this.#public.get(playlist);
    if (made === undefined) {
      made = publicPlaylist(playlist.text, rendition, mediaUrl).then((text) => new PlaylistText(text, true));
      this.#public.set(playlist, made);
    }
    return made;
  }

  playlist(
    id: string,
    excerpt: Excerpt,
    { skip, hasEnded = false }: { readonly skip: boolean; readonly hasEnded?: boolean },
  ): RenderedPlaylist | undefined {
    const index = this.#index;
    const rendition = index.rendition(id);
    if (rendition === undefined || rendition.completeCount === 0) return undefined;
    const playlists = this.#playlistsOf(id);
    if (excerpt.fromMs === undefined && excerpt.untilMs === undefined) {
      return playlists.whole(index, rendition, { skip, hasEnded: hasEnded || index.hasEnded });
    }
    const span = playlistSpan(index, excerpt);
    if (span === undefined) return undefined;
    const startS = excerpt.fromMs === undefined ? undefined : this.#positionIn(span, excerpt.fromMs);
    const isRunning = !(hasEnded || index.hasEnded);
    const isWhole = !isRunning || isExcerptComplete(index, excerpt);
    const of = JSON.stringify([span, startS, isRunning, isWhole, rendition.completeCount]);
    const known = this.#excerpts.get(id);
    if (known?.of === of) return known.playlist;
    const text = playlists.excerpt(index, rendition, { span, startS, isRunning, isComplete: isWhole });
    if (text === undefined) return undefined;
    const playlist = new PlaylistText(text, isWhole);
    if (isRunning) this.#excerpts.set(id, { of, playlist });
    return playlist;
  }

  /** @param id the id of a rendition of this recording */
  #playlistsOf(id: string): RecordedPlaylists {
    let playlists = this.#playlists.get(id);
    if (playlists === undefined) {
      playlists = new RecordedPlaylists(this.#source.targetDurationS);
      this.#playlists.set(id, playlists);
    }
    return playlists;
  }

  timeAt(positionS: number, fromMs?: Milliseconds): Milliseconds {
    const { leader } = this.#index;
    const segments = leader?.segments;
    const first = fromMs === undefined ? 0 : (segments?.indexAt(fromMs) ?? 0);
    let left = positionS;
    for (let at = first; leader !== undefined && at < leader.completeCount; at++) {
      const segment = leader.segments.at(at)!;
      const beginsMs =
        at === first && fromMs !== undefined ? Math.max(fromMs, segment.programDateTimeMs) : segment.programDateTimeMs;
      const endsMs = segment.programDateTimeMs + segment.durationS * 1000;
      if (left * 1000 < endsMs - beginsMs) return ms(beginsMs + Math.max(0, left) * 1000);
      left -= (endsMs - beginsMs) / 1000;
    }
    return this.extent.untilMs ?? this.epoch;
  }

  async media(id: string, name: string, excerpt: Excerpt): Promise<RecordedMedia | undefined> {
    const index = this.#index;
    const rendition = index.rendition(id);
    if (rendition === undefined) return undefined;
    const contentType = `${rendition.track.kind}/mp4`;
    const init = rendition.data.inits.find(({ number }) => name === recordedInitName(number));
    const isFinal = this.hasEnded;
    if (init !== undefined) {
      const etag = `${name}-${crc32(init.bytes).toString(16)}`;
      return { ...bytesSource(init.bytes), contentType, etag, isFinal, durationMs: 0 };
    }
    const number = Number.parseInt(name, 10);
    if (name !== recordedSegmentName(number) || !isListed(rendition, number)) return undefined;
    const span = playlistSpan(index, excerpt);
    if (span === undefined || number < span.first || number > span.last) return undefined;
    const segment = rendition.segments.at(rendition.segments.indexOf(number));
    if (segment === undefined) {
      return { ...bytesSource(EMPTY_SEGMENT), contentType, etag: `${name}-gap`, isFinal, durationMs: 0 };
    }
    const { volume, offset, sizeBytes, durationS } = segment;
    return {
      ...this.#fileSource(volumeName(id, volume), offset, sizeBytes),
      contentType,
      etag: `${name}-${volume}-${offset}-${sizeBytes}`,
      isFinal: isFinal || volume + OPEN_PERIODS <= newestVolume(index),
      durationMs: durationS * 1000,
    };
  }

  mp4(rendition: string, excerpt: Excerpt, viewer: MovieViewer): Promise<VirtualFile | undefined> {
    const source = { path: this.#path, epoch: this.epoch, index: this.#index, reader: this.#shelf.reader };
    return this.#shelf.movies.open(source, rendition, excerpt, viewer);
  }

  mp4End(rendition: string): Milliseconds | undefined {
    return movieEnd(this.#index, rendition);
  }

  async picture(excerpt: Excerpt, at?: Milliseconds): Promise<Uint8Array | undefined> {
    const atMs = at === undefined ? Number.NEGATIVE_INFINITY : at - this.epoch;
    const poster = posterAt(this.#index.pictures, this.#sessionSpanOf(excerpt), atMs);
    if (poster === undefined) return await this.#still(excerpt, at);
    // When the file of the poster is lost or shorter than the index says, the media is there all the same.
    return await this.#readPicture(poster).catch(() => this.#still(excerpt, at));
  }

  storyboard(excerpt: Excerpt): string | undefined {
    const { tiles, endS } = this.#tilesOf(excerpt);
    return storyboardOf(
      tiles.map(({ positionS }) => positionS),
      endS,
    );
  }

  async sheet(excerpt: Excerpt, index: number): Promise<Uint8Array | undefined> {
    const { tiles } = this.#tilesOf(excerpt);
    const wanted = tiles.slice(index * TILES_PER_SHEET, (index + 1) * TILES_PER_SHEET);
    if (wanted.length === 0) return undefined;
    // A tile that cannot be read, for example because it was lost in a power failure, is grey.
    const read = ({ picture }: StoryboardTile) => this.#readPicture(picture).catch(() => new Uint8Array());
    return joinTiles(await Promise.all(wanted.map(read)));
  }

  #tilesOf(excerpt: Excerpt): ReturnType<typeof tilesOf> {
    const index = this.#index;
    const span = playlistSpan(index, excerpt);
    if (index.leader === undefined || span === undefined) return { tiles: [], endS: 0 };
    return tilesOf(index.pictures, index.leader, span, this.#sessionSpanOf(excerpt));
  }

  #sessionSpanOf({ fromMs = ms(0), untilMs }: Excerpt): SessionSpan {
    return { fromMs: fromMs - this.epoch, untilMs: (untilMs ?? Number.POSITIVE_INFINITY) - this.epoch };
  }

  #readPicture({ period, offset, sizeBytes }: PlacedPicture): Promise<Uint8Array> {
    const { signal } = new AbortController();
    return this.#shelf.reader.read(this.#path, picturesName(period), offset, offset + sizeBytes, signal);
  }

  /** Makes a picture of the segment that is shown at a time, for an excerpt in which no poster was made. */
  async #still(excerpt: Excerpt, at?: Milliseconds): Promise<Uint8Array | undefined> {
    const { leader } = this.#index;
    const span = playlistSpan(this.#index, excerpt);
    if (leader?.track.kind !== 'video' || span === undefined) return undefined;
    const { segments, completeCount } = leader;
    const wanted = Math.min(at === undefined ? 0 : segments.indexAt(at), completeCount - 1);
    const segment = segments.at(Math.max(wanted, segments.indexFrom(span.first)));
    if (segment === undefined || segment.number > span.last) return undefined;
    const { number, volume, offset, sizeBytes } = segment;
    const init = leader.init(segment.init)?.bytes;
    if (init === undefined) return undefined;
    const { signal } = new AbortController();
    const until = Math.min(sizeBytes, MAX_KEYFRAME_BYTES);
    return await this.#shelf.stills.of(`${this.#path} ${number}`, async () => {
      const source = this.#fileSource(volumeName(leader.id, volume), offset, sizeBytes);
      return { init, segment: Buffer.concat(await Array.fromAsync(source.read(0, until, signal))) };
    });
  }

  /** The distance of a wall-clock time from the start of a span's first segment, in seconds. */
  #positionIn({ first }: SegmentSpan, atMs: number): number {
    const { leader } = this.#index;
    const segment = leader?.segments.at(leader.segments.indexOf(first));
    return segment === undefined ? 0 : Math.max(0, (atMs - segment.programDateTimeMs) / 1000);
  }

  #fileSource(name: string, offset: number, sizeBytes: number): ByteSource {
    const read = async function* (
      reader: RecordingFileReader,
      path: MediaPath,
      from: number,
      until: number,
      signal: AbortSignal,
    ) {
      for (let at = from; at < until; at += PIECE_BYTES) {
        signal.throwIfAborted();
        yield await reader.read(path, name, offset + at, offset + Math.min(until, at + PIECE_BYTES), signal);
      }
    };
    return { sizeBytes, read: (from, until, signal) => read(this.#shelf.reader, this.#path, from, until, signal) };
  }
}

/** Whether the playlist of a rendition lists the segment with a number, even if only as a gap. */
function isListed({ segments, completeCount }: RecordedRendition, number: number): boolean {
  const [first, last] = [segments.at(0), segments.at(completeCount - 1)];
  return first !== undefined && last !== undefined && number >= first.number && number <= last.number;
}

/** The number of the newest volume that has a segment. */
function newestVolume({ renditions }: RecordingIndex): number {
  return Math.max(-1, ...renditions.map(({ segments }) => segments.at(segments.count - 1)?.volume ?? -1));
}

function bytesSource(bytes: Uint8Array): ByteSource {
  return {
    sizeBytes: bytes.length,
    async *read(from, until) {
      yield bytes.subarray(from, until);
    },
  };
}
