/**
 * Answers requests for playlists, MP4s and pictures of recordings and clips from an open recording: which bytes are sent, with which headers.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { RenderedPlaylist } from '#hls/hls.ts';
import { PlaylistText } from '#hls/rendered-playlist.ts';
import { acceptsGzip } from '#http/accept.ts';
import { hasAlready } from '#http/entity-tag.ts';
import { FairTurns } from '#lib/fair-turns.ts';
import { HOUR_MS } from '#lib/units.ts';
import { sendAnswer } from '#origin/answer.ts';
import type { OriginContext } from '#origin/origin-context.ts';
import type { PlaybackAdmission } from '#origin/rights/playback-gate.ts';
import { ABOVE_TICKET } from '#origin/rights/restricted-playlists.ts';
import type { Excerpt, MovieViewer, Recorded } from '#recording/recording.ts';
import { type RecordingFile, recordingUrl, saveAs, spanQuery } from './recording-file.ts';
import { isOwnersOnly, type RecordingRights } from './recording-rights.ts';
import type { FoundRecording, Recordings } from './recordings.ts';
import { sendFile } from './send-bytes.ts';
import { instantOf, parseTime } from './span.ts';

/** The most MP4 heads, sheets and pictures that are made at the same time. Those that are kept in memory need not wait. */
const MAX_MADE_AT_ONCE = 4;
/**
 * The most playlists and storyboards of long spans that are made at the same time. Each takes a few milliseconds of the event loop, and
 * compression.
 */
const MAX_TEXTS_AT_ONCE = 2;
/** The most requests that may wait until files are made for them. */
const MAX_WAITING = 200;
/** The most of these waiting requests that come from one host. */
export const MAX_WAITING_OF_HOST = 20;
/** How often the server checks whether an MP4 that it is sending may still be watched. Sending one can take hours. */
const LOOK_AGAIN_MS = 5000;
/** Playlists and storyboards of spans up to this length do not wait for a turn, because they take almost no time. */
const SHORT_MS = HOUR_MS;

const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl';
/** Matches the beginning of each URI in a multivariant playlist. All of them are relative. */
const PLAYLIST_ADDRESS = /(^|URI=")([A-Za-z0-9_~-])/gm;
/** Matches the URI of a sheet in a storyboard. */
const SHEET_ADDRESS = /^(sheet-\d+\.jpg)/gm;

/** What the answers need besides the context of the origin. */
export interface RecordingAnswersOptions extends Pick<RecordingRights, 'dvr'> {
  readonly recordings: Recordings;
  /** The URL at which a CDN serves the object store to everybody, without a slash at the end. Undefined when there is none. */
  readonly publicUrl: string | undefined;
}

/** A recording that this node has opened for a viewer. */
export interface Opened {
  readonly recorded: Recorded;
  readonly signal: AbortSignal;
  /** The address of the viewer, even when another node has passed the request on. Limits by network count this address. */
  readonly address: string;
}

/** A request that was admitted, for a file that this node can read. */
export interface Reading extends Opened {
  readonly reply: FastifyReply;
  readonly found: FoundRecording;
  /** The span that the asset shows, and the span of it that the URL asks for. */
  readonly excerpt: Excerpt;
  readonly span: Excerpt;
  readonly isSpanInUrl: boolean;
  readonly admission: PlaybackAdmission;
  readonly ticket: string | undefined;
}

/** Answers from open recordings. */
export class RecordingAnswers {
  readonly #context: OriginContext;
  readonly #options: RecordingAnswersOptions;
  readonly #turns = makingTurns(MAX_MADE_AT_ONCE);
  readonly #textTurns = makingTurns(MAX_TEXTS_AT_ONCE);
  readonly #etags = new WeakMap<object, string>();

  constructor(context: OriginContext, options: RecordingAnswersOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Sends a file of a recording. @throws {MillraceError} `not_found`, `too_many_viewers` */
  async send(reading: Reading, file: RecordingFile, name: string): Promise<FastifyReply> {
    switch (file.type) {
      case 'multivariant':
        return await this.#sendMultivariant(reading);
      case 'playlist':
        if (isWhole(reading.span)) return await this.#sendPlaylist(reading, file.rendition, name);
        await this.#awaitEnd(reading); // before it takes a turn, which others need meanwhile
        return await this.#sendMadeText(reading, () => this.#sendPlaylist(reading, file.rendition, name));
      case 'mp4':
        return await this.#sendMp4(reading, file.rendition, name);
      case 'poster':
        return await this.#sendPoster(reading);
      case 'storyboard':
        return await this.#sendMadeText(reading, () => this.#sendStoryboard(reading, name));
      case 'sheet':
        return await this.#sendSheet(reading, file.index, name);
    }
  }

  /** Sends a playlist or storyboard that is not kept. One of a long span waits for a turn, so that others are not delayed. */
  async #sendMadeText(
    { signal, address, recorded, span }: Reading,
    send: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    const { fromMs = 0, untilMs = 0 } = recorded.extent;
    const lengthMs = Math.min(untilMs, span.untilMs ?? Infinity) - Math.max(fromMs, span.fromMs ?? 0);
    if (lengthMs <= SHORT_MS) return await send();
    const work = async (): Promise<FastifyReply> => {
      const sent = await send();
      await nextTurn();
      return sent;
    };
    return await this.#textTurns.run(address, work, signal);
  }

  async #sendMultivariant(reading: Reading): Promise<FastifyReply> {
    const { recorded, span, isSpanInUrl } = reading;
    await this.#awaitEnd(reading);
    const text = recorded.multivariant(isSpanInUrl ? spanQuery(span) : '');
    const folder = ticketFolder(reading);
    const addressed = folder === '' ? text : text.replace(PLAYLIST_ADDRESS, `$1${folder}$2`);
    return await this.#sendText(reading, new PlaylistText(addressed, false), PLAYLIST_TYPE, 'index.m3u8');
  }

  /** Waits until the playlists of a span up to the present have its end, because a player of a clip would otherwise stop before that. */
  async #awaitEnd({ found, recorded, span, signal }: Reading): Promise<void> {
    if (!found.isLeft && !isWhole(span)) await recorded.completed(span, signal);
  }

  async #sendPlaylist(reading: Reading, rendition: string, name: string): Promise<FastifyReply> {
    const { reply, found, recorded, span, admission, ticket } = reading;
    const { _HLS_skip: skipped } = reply.request.query as Readonly<Record<string, unknown>>;
    const skip = skipped === 'YES' || skipped === 'v2';
    await recorded.prepare(rendition);
    const playlist = recorded.playlist(rendition, span, { skip, hasEnded: found.isLeft });
    if (playlist === undefined) throw gone();
    if (!admission.restricted) {
      const mediaUrl = this.#mediaUrlOf(found);
      const open = mediaUrl === undefined ? playlist : await recorded.publicPlaylist(rendition, playlist, mediaUrl);
      return await this.#sendText(reading, open, PLAYLIST_TYPE, name, skip);
    }
    const { policy } = admission;
    const { path } = found.asset;
    const restricted = await this.#context.restrictedPlaylists.long(playlist, {
      folder: ticket === undefined ? '' : ABOVE_TICKET,
      mediaPath: path,
      proofOf: this.#context.gate.proofsOfRecording(policy, path),
    });
    return await this.#sendText(reading, restricted, PLAYLIST_TYPE, name, skip);
  }

  /**
   * The URL at which everybody may read the volumes. Undefined for clips, whose viewers could otherwise read the rest of the recording,
   * too.
   */
  #mediaUrlOf({ asset }: FoundRecording): string | undefined {
    const { publicUrl } = this.#options;
    return publicUrl !== undefined && asset.kind === 'recording' && asset.isStored
      ? `${publicUrl}/${asset.path}`
      : undefined;
  }

  async #sendMp4(reading: Reading, rendition: string, name: string): Promise<FastifyReply> {
    const { reply, signal, address, found, recorded, span, isSpanInUrl } = reading;
    const end = recorded.mp4End(rendition);
    const query = reply.request.query as Readonly<Record<string, unknown>>;
    if (recorded.isRunning && (span.untilMs === undefined || end === undefined || span.untilMs > end)) {
      if (end === undefined || (span.fromMs ?? 0) >= end) throw gone();
      // All ranges that a player requests must be of the same file, so the redirect states the end that the MP4 has now.
      const bounded = new URLSearchParams(reply.request.raw.url?.split('?')[1] ?? '');
      bounded.delete('from');
      bounded.delete('to');
      for (const [key, value] of new URLSearchParams(spanQuery({ ...span, untilMs: end }))) bounded.set(key, value);
      return sendAnswer(reply, 307, { location: `${name}?${bounded.toString()}`, 'cache-control': 'no-store' }, []);
    }
    const viewer: MovieViewer = { address, inTurn: (work) => this.#turns.run(address, work, signal) };
    const file = await recorded.mp4(rendition, span, viewer);
    if (file === undefined) throw gone();
    const isAudio = name.endsWith('.m4a');
    const { download } = query;
    const headers = {
      contentType: isAudio ? 'audio/mp4' : 'video/mp4',
      cacheControl: this.#cacheControl(reading, name, isSpanInUrl ? 'recorded_media' : 'recorded_file'),
      etag: `"${file.etag}"`,
      disposition: typeof download === 'string' ? saveAs(download, rendition, isAudio ? '.m4a' : '.mp4') : undefined,
    };
    // Nobody knows whether an MP4 is watched or kept, so it counts in bytes only.
    const onSent = this.#context.delivers(reply.request, found.subject.playbackId, { usageOf: found.streamPlaybackId });
    using withdrawn = this.#withdrawal(reading);
    return await sendFile(reply, file, headers, AbortSignal.any([signal, file.lost, withdrawn.signal]), onSent);
  }

  /** Makes a signal that aborts within seconds after the recording is deleted, or its stream or user is suspended. */
  #withdrawal({ found, address }: Reading): Disposable & { readonly signal: AbortSignal } {
    const withdrawn = new AbortController();
    const look = async (): Promise<void> => {
      const { path } = found.asset;
      if ((await this.#options.recordings.find(path, address)) === undefined) withdrawn.abort();
    };
    // While the store is down, the result of the last check stays in force.
    const timer = setInterval(() => void look().catch(() => {}), LOOK_AGAIN_MS).unref();
    return { signal: withdrawn.signal, [Symbol.dispose]: () => clearInterval(timer) };
  }

  async #sendPoster(reading: Reading): Promise<FastifyReply> {
    const { reply, signal, address, recorded, excerpt, span } = reading;
    const query = reply.request.query as Readonly<Record<string, unknown>>;
    const at = instantOf(parseTime(query, 'at'), excerpt, recorded);
    const jpeg = await this.#turns.run(address, () => recorded.picture(span, at), signal);
    if (jpeg === undefined) throw pictureless();
    return this.#sendJpeg(reading, jpeg, 'poster.jpg');
  }

  async #sendStoryboard(reading: Reading, name: string): Promise<FastifyReply> {
    const { recorded, span, isSpanInUrl } = reading;
    const text = recorded.storyboard(span);
    if (text === undefined) throw pictureless();
    // Sheets show the same span as their storyboard.
    const addressed = text.replace(SHEET_ADDRESS, `${ticketFolder(reading)}$1${isSpanInUrl ? spanQuery(span) : ''}`);
    return await this.#sendText(reading, new PlaylistText(addressed, false), 'text/vtt', name);
  }

  async #sendSheet(reading: Reading, index: number, name: string): Promise<FastifyReply> {
    const { signal, address, recorded, span } = reading;
    const jpeg = await this.#turns.run(address, () => recorded.sheet(span, index), signal);
    if (jpeg === undefined) throw pictureless();
    return this.#sendJpeg(reading, jpeg, name);
  }

  #sendJpeg(reading: Reading, jpeg: Uint8Array, name: string): FastifyReply {
    const { reply } = reading;
    const etag = this.#etagOf(jpeg, jpeg);
    const validity = { 'cache-control': this.#cacheControl(reading, name, 'recorded_file'), etag };
    if (hasAlready(reply.request.headers['if-none-match'], etag)) return sendAnswer(reply, 304, validity, []);
    const headers = { ...validity, 'content-type': 'image/jpeg', 'content-length': jpeg.byteLength };
    return sendAnswer(reply, 200, headers, [jpeg]);
  }

  async #sendText(
    reading: Reading,
    rendered: RenderedPlaylist,
    contentType: string,
    name: string,
    skip = false,
  ): Promise<FastifyReply> {
    const { reply } = reading;
    const etag = this.#etagOf(rendered, rendered.text);
    // Both encodings have the same tag, so it is weak.
    const validity = {
      'cache-control': this.#cacheControl(reading, name, 'recorded_file', skip),
      etag: `W/${etag}`,
      vary: 'Accept-Encoding',
    };
    if (hasAlready(reply.request.headers['if-none-match'], etag)) return sendAnswer(reply, 304, validity, []);
    const gzip = acceptsGzip(reply.request.headers['accept-encoding']);
    const body = gzip ? await rendered.gzip() : Buffer.from(rendered.text);
    const headers = { ...validity, 'content-type': contentType, 'content-length': body.length };
    return sendAnswer(reply, 200, gzip ? { ...headers, 'content-encoding': 'gzip' } : headers, [body]);
  }

  /** The value of `Cache-Control`. @param ended the kind of answer that this is once the recording has ended */
  #cacheControl(
    { reply, found, recorded, admission, isSpanInUrl }: Reading,
    name: string,
    ended: 'recorded_media' | 'recorded_file',
    skip = false,
  ): string {
    const { cacheControl } = this.#context;
    if (admission.restricted || isOwnersOnly(found, this.#options)) return cacheControl('restricted');
    const kind = recorded.isRunning && ended === 'recorded_file' ? 'playlist' : ended;
    // The same span can be written in any number of ways, so only the viewer's own cache may keep the answer.
    if (isSpanInUrl) return kind === 'playlist' ? cacheControl('unshared') : `private, ${cacheControl(kind)}`;
    return this.#context.sharedAs(reply, recordingUrl(found.asset.path, name, skip), cacheControl(kind));
  }

  /** The entity tag of an answer, computed once for each object. */
  #etagOf(answer: object, content: string | Uint8Array): string {
    const etag =
      this.#etags.get(answer) ?? `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
    this.#etags.set(answer, etag);
    return etag;
  }
}

/** Makes the turns in which networks have files made for their viewers. */
export const makingTurns = (atOnce: number): FairTurns =>
  new FairTurns({
    atOnce,
    waiting: MAX_WAITING,
    waitingOfHost: MAX_WAITING_OF_HOST,
    refusal: () =>
      new MillraceError(
        'too_many_viewers',
        'Too many requests wait for this server to prepare files; try again soon.',
        { retryAfterS: 1 },
      ),
  });

/** The folder that has the viewer's ticket in its URL, relative to the requested file. Empty when URIs need no ticket. */
function ticketFolder({ admission, ticket }: Reading): string {
  // A file below a ticket needs none in its URIs, because they are relative and so lead to files below the same ticket.
  const made = admission.restricted && ticket === undefined ? admission.ticket?.() : undefined;
  return made === undefined ? '' : `v/${made}/`;
}

/** Whether an excerpt has no bounds. The playlists of a whole recording are kept. */
const isWhole = ({ fromMs, untilMs }: Excerpt): boolean => fromMs === undefined && untilMs === undefined;

/** The refusal of a request for something that does not exist. */
export function gone(): MillraceError {
  return new MillraceError('not_found', 'There is no such recording, or it has no file with this name and time.');
}

function pictureless(): MillraceError {
  return new MillraceError('not_found', 'This recording has no thumbnail for this time.');
}
