/**
 * Serves recordings and clips: playlists, media, MP4s and pictures. The URLs are the same while the recording runs and afterwards.
 *
 * ```
 * /recordings/<path>/index.m3u8, <rendition>.m3u8, <rendition>.mp4, audio.m4a, poster.jpg, storyboard.vtt, sheet-<n>.jpg
 * /recordings/<path>/<rendition>/<name>               segments and init segments, as playlists name them
 * /recordings/<path>/v/<ticket>/<file>                the same files of a restricted stream, for one viewer
 * /recordings/<path>/s/<proof>/<rendition>/<name>     the media of a restricted stream, at the same URL for all its viewers
 * ```
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { isMediaPath } from '#domain/ids.ts';
import { isRestricted } from '#domain/playback-policy.ts';
import { AUDIO_RENDITION } from '#domain/profile.ts';
import type { RenderedPlaylist } from '#hls/hls.ts';
import { PlaylistText } from '#hls/rendered-playlist.ts';
import { acceptsGzip } from '#http/accept.ts';
import { hasAlready } from '#http/entity-tag.ts';
import { FairTurns } from '#lib/fair-turns.ts';
import { sendAnswer } from '#origin/answer.ts';
import { HeldRequests } from '#origin/held-requests.ts';
import { HELD, type OriginContext } from '#origin/origin-context.ts';
import { isResourceName, isSealed } from '#origin/resource-name.ts';
import type { PlaybackAdmission } from '#origin/rights/playback-gate.ts';
import { ABOVE_TICKET } from '#origin/rights/restricted-playlists.ts';
import type { Excerpt, Library, MovieViewer, Recorded, RecordedMedia } from '#recording/recording.ts';
import type { InTurn, RecordingsElsewhere } from './elsewhere.ts';
import { parseRecordingFile, type RecordingFile, recordingUrl, saveAs, spanQuery } from './recording-file.ts';
import { isOwners, isOwnersOnly, isRunning, ownersOnly, type RecordingRights } from './recording-rights.ts';
import type { FoundRecording, Recordings } from './recordings.ts';
import { sendFile } from './send-bytes.ts';
import { excerptOf, instantOf, narrow, parseSpan, parseTime } from './span.ts';

/** The most answers that may be read from disks and object stores at the same time. */
const MAX_READS = 1000;
/** The most MP4 heads, sheets and pictures that are made at the same time. Those that are kept in memory need not wait. */
const MAX_MADE_AT_ONCE = 4;
/** The most texts about long spans that are made at the same time. Each takes a few milliseconds of the event loop, and compression. */
const MAX_TEXTS_AT_ONCE = 2;
/** The most requests that may wait until files are made for them, of all viewers and of one host. */
const MAX_WAITING = 200;
const MAX_WAITING_OF_HOST = 20;
/** The most such requests that wait for answers of other nodes, so that this node does not take all the places at another one. */
const MAX_MADE_ELSEWHERE = MAX_WAITING_OF_HOST;
/** How often the server checks whether an MP4 that it is sending can still be watched. Sending one may take hours. */
const LOOK_AGAIN_MS = 5000;
/** Texts about spans up to this length are made at once, because they take no time. */
const SHORT_MS = 3_600_000;

const PLAYLIST_TYPE = 'application/vnd.apple.mpegurl';
/** Matches the beginning of each URI in a multivariant playlist. All of them are relative. */
const PLAYLIST_ADDRESS = /(^|URI=")([A-Za-z0-9_~-])/gm;
/** Matches the URI of a sheet in a storyboard. */
const SHEET_ADDRESS = /^(sheet-\d+\.jpg)/gm;

/** What the routes need besides the context of the origin. */
export interface RecordingRoutesOptions extends RecordingRights {
  readonly recordings: Recordings;
  readonly library: Library;
  /** Passes requests on to other nodes. Undefined when this server is the only one. */
  readonly elsewhere: RecordingsElsewhere | undefined;
  /** The URL at which a CDN serves the object store to everybody, without a slash at the end. Undefined when there is none. */
  readonly publicUrl: string | undefined;
}

const makingTurns = (atOnce: number): FairTurns =>
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

/** Adds the routes below `/recordings/`. */
export function recordingRoutes(app: FastifyInstance, context: OriginContext, options: RecordingRoutesOptions): void {
  const answers = new RecordingAnswers(context, options);
  app.addHook('preClose', async () => answers.release());
  app.get<{ Params: Omit<AskedFile, 'ticket'> }>('/recordings/:path/:file', HELD, (request, reply) =>
    answers.file(reply, { ...request.params, ticket: undefined }),
  );
  // A wildcard is used, because a ticket may be longer than the limit for parameters.
  app.get<{ Params: { readonly path: string; readonly '*': string } }>(
    '/recordings/:path/v/*',
    HELD,
    (request, reply) => {
      const [ticket = '', file = '', ...rest] = request.params['*'].split('/');
      if (!isSealed(ticket) || rest.length > 0) throw gone();
      return answers.file(reply, { path: request.params.path, file, ticket });
    },
  );
  app.get<{ Params: Omit<AskedMedia, 'proof'> }>('/recordings/:path/:rendition/:name', HELD, (request, reply) =>
    answers.media(reply, { ...request.params, proof: undefined }),
  );
  app.get<{ Params: AskedMedia & { proof: string } }>(
    '/recordings/:path/s/:proof/:rendition/:name',
    HELD,
    (request, reply) => answers.media(reply, request.params),
  );
}

interface AskedFile {
  readonly path: string;
  readonly file: string;
  readonly ticket: string | undefined;
}

interface AskedMedia {
  readonly path: string;
  readonly proof: string | undefined;
  readonly rendition: string;
  readonly name: string;
}

/** A recording that this node has opened for a viewer. */
interface Opened {
  readonly recorded: Recorded;
  readonly signal: AbortSignal;
  /** The address of the viewer, also when another node has passed the request on. Limits by network count this one. */
  readonly address: string;
}

/** A request that was admitted, for a file that this node can read. */
interface Reading extends Opened {
  readonly reply: FastifyReply;
  readonly found: FoundRecording;
  /** The span that the asset shows, and the span of it that the URL asks for. */
  readonly excerpt: Excerpt;
  readonly span: Excerpt;
  readonly isSpanInUrl: boolean;
  readonly admission: PlaybackAdmission;
  readonly ticket: string | undefined;
}

/** A viewer that was counted for its request for a playlist. */
interface NotedViewer {
  /** False when the owner's limit of viewers is reached. */
  readonly isPlaced: boolean;
  /**
   * Counts the view of a replay, which the node does that the viewer asks. Called when a multivariant playlist was sent: players load the
   * others once, and again minutes later when they change the rendition. Does nothing for a viewer who watches already.
   */
  readonly countReplay: () => void;
}

class RecordingAnswers {
  readonly #context: OriginContext;
  readonly #options: RecordingRoutesOptions;
  readonly #reads = new HeldRequests(MAX_READS);
  readonly #turns = makingTurns(MAX_MADE_AT_ONCE);
  readonly #textTurns = makingTurns(MAX_TEXTS_AT_ONCE);
  readonly #turnsElsewhere = makingTurns(MAX_MADE_ELSEWHERE);
  readonly #etags = new WeakMap<object, string>();

  constructor(context: OriginContext, options: RecordingRoutesOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Ends all answers in progress, because the server is closing. */
  release(): void {
    this.#reads.release();
  }

  async file(reply: FastifyReply, { path, file: name, ticket }: AskedFile): Promise<FastifyReply> {
    const { request } = reply;
    const file = parseRecordingFile(name);
    if (file === undefined) throw gone();
    const found = await this.#find(request, path);
    const admission = await this.#admit(request, found, ticket);
    // Public streams need no ticket.
    if (ticket !== undefined && !admission.restricted) throw gone();
    const isPlaylist = file.type === 'multivariant' || file.type === 'playlist';
    const isStart = file.type === 'multivariant';
    const noted = isPlaylist ? await this.#noteViewer(request, found) : undefined;
    if (isStart && noted?.isPlaced === false) {
      throw new MillraceError('too_many_viewers', 'This recording has reached its limit of viewers; try again soon.', {
        retryAfterS: 5,
      });
    }
    const isMade = !isPlaylist || parseSpanOf(request) !== undefined;
    const answered = await this.#read(reply, found, { isMade, isMedia: file.type === 'mp4' }, async (opened) => {
      const { recorded } = opened;
      const excerpt = excerptOf(found.asset);
      const urlSpan = parseSpanOf(request);
      const isSpanInUrl = urlSpan !== undefined;
      const span = narrow(excerpt, urlSpan ?? NO_SPAN, recorded);
      const reading = { ...opened, reply, found, excerpt, span, isSpanInUrl, admission, ticket };
      return await this.#sendFile(reading, file, name);
    });
    // A replay that cannot be read is not watched, however often its player tries again.
    if (isStart && reply.raw.headersSent && reply.raw.statusCode < 400) noted?.countReplay();
    return answered;
  }

  async media(reply: FastifyReply, { path, proof, rendition, name }: AskedMedia): Promise<FastifyReply> {
    const { request } = reply;
    if (!(isResourceName(rendition) && isResourceName(name))) throw gone();
    const found = await this.#find(request, path);
    const { asset, subject, streamPlaybackId } = found;
    const knows = this.#context.gate.knowsMediaUnder(subject.stream.playbackPolicy, {
      mediaPath: asset.path,
      proof,
      name,
    });
    if (!knows) throw gone();
    const isForOwner = isOwnersOnly(found, this.#options);
    // While only the owner may watch, only the owner's playlists contain proofs.
    if (isForOwner && proof === undefined && !(await isOwners(request, found, this.#context, this.#options))) {
      throw ownersOnly();
    }
    const isPrivate = isForOwner || (proof !== undefined && !isRestricted(subject.stream.playbackPolicy));
    return await this.#read(reply, found, { isMade: false, isMedia: true }, async ({ recorded, signal }) => {
      const media = await recorded.media(rendition, name, excerptOf(asset));
      if (media === undefined) throw gone();
      const folder = proof === undefined ? rendition : `s/${proof}/${rendition}`;
      const url = recordingUrl(asset.path, `${folder}/${name}`);
      const cacheControl = isPrivate
        ? this.#context.cacheControl('restricted')
        : this.#context.sharedAs(
            reply,
            url,
            this.#context.cacheControl(media.isFinal ? 'recorded_media' : 'recorded_file'),
          );
      const { contentType, etag } = media;
      const msPerByte = watchedMsOf(found, recorded, rendition, media) / Math.max(1, media.sizeBytes);
      const onSent = this.#context.delivers(request, subject.playbackId, { usageOf: streamPlaybackId, msPerByte });
      const told = onSent === undefined ? msPerByte : undefined;
      const headers = { contentType, cacheControl, etag: `"${etag}"`, msPerByte: told };
      return await sendFile(reply, media, headers, signal, onSent);
    });
  }

  async #find(request: FastifyRequest, path: string): Promise<FoundRecording> {
    const found = isMediaPath(path) ? await this.#options.recordings.find(path, request.ip) : undefined;
    if (found === undefined) throw gone();
    return found;
  }

  /**
   * Admits a request for a playlist, an MP4 or a picture, or refuses it. While only the owner may watch, tickets pass the owner's token on to
   * every file that a playlist names. These tickets stay valid when the recording has ended and everybody may watch.
   * @throws {MillraceError} as {@link PlaybackGate.admitTo}, and `playback_unauthorized` when only the owner may watch for now
   */
  async #admit(request: FastifyRequest, found: FoundRecording, ticket: string | undefined): Promise<PlaybackAdmission> {
    const { gate, viewers } = this.#context;
    // What is wrong with a request that another node has passed on counts against the network of the viewer, not against that node.
    const address = viewers.addressOf(request, found.subject.playbackId);
    const admission = await gate.admitTo(request, found.subject, { ticket, address });
    const isForOwner = isOwnersOnly(found, this.#options);
    if (!isForOwner && (ticket === undefined || admission.restricted)) return admission;
    const owners = await gate.ownersAdmission(request, found.subject, ticket);
    if (owners !== undefined) return owners;
    if (isForOwner && !(await this.#options.isOwner(request, found.asset.userId))) throw ownersOnly();
    return admission;
  }

  /**
   * Counts the sender of a playlist request as a viewer: of the stream while it is recorded, and afterwards of the recording.
   * @throws {MillraceError} `store_unavailable`
   */
  async #noteViewer(request: FastifyRequest, found: FoundRecording): Promise<NotedViewer> {
    const { asset, subject, streamPlaybackId, origin } = found;
    const { audience, viewers } = this.#context;
    const isLive = isRunning(found);
    const playbackId = isLive ? streamPlaybackId : asset.playbackId;
    const told = viewers.told(request, subject.playbackId);
    if (told !== undefined) {
      audience.watchedElsewhere(playbackId, isLive ? told : told.map(({ name }) => ({ name, isNew: false })));
      return { isPlaced: true, countReplay: () => undefined };
    }
    const quota = { ofUser: asset.userId, atMost: await this.#options.recordings.viewersAtMost(asset.userId) };
    const viewer = viewers.of(request);
    const isCountedHere = isLive && origin === undefined;
    const isPlaced = audience.watched(playbackId, viewer, quota, isCountedHere ? streamPlaybackId : undefined);
    const countReplay = () => {
      if (!isLive) audience.watched(playbackId, viewer, quota, streamPlaybackId);
    };
    return { isPlaced, countReplay };
  }

  /**
   * Opens a recording and answers from it, or passes the request on to the node that has it. The number of answers at a time is limited.
   * @param what.isMade whether the answer must be made first, such as a picture or the head of an MP4. Networks take turns for such work
   * @param what.isMedia whether the bytes of the answer are media, which count in the usage
   */
  async #read(
    reply: FastifyReply,
    found: FoundRecording,
    { isMade, isMedia }: { readonly isMade: boolean; readonly isMedia: boolean },
    answer: (opened: Opened) => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    const { request } = reply;
    const { origin, recording, subject, streamPlaybackId } = found;
    const { viewers } = this.#context;
    const { elsewhere, library } = this.#options;
    const isNode = viewers.told(request, subject.playbackId) !== undefined;
    const address = viewers.addressOf(request, subject.playbackId);
    const answered = await this.#reads.hold(reply.raw, address, async (place) => {
      const { signal } = place;
      // A request that another node has passed on is never passed on again.
      if (origin !== undefined && elsewhere !== undefined && !isNode) {
        const added = viewers.passingOn(request, subject.playbackId);
        // The other node has few places for the requests of this node, so the networks of its viewers take turns here.
        const inTurn: InTurn = (ask) => (isMade ? this.#turnsElsewhere.run(address, ask, signal) : ask());
        const delivers = (msPerByte: number) =>
          this.#context.delivers(request, subject.playbackId, { usageOf: streamPlaybackId, msPerByte });
        return await elsewhere.pass(reply, { origin, added, signal, inTurn, delivers: isMedia ? delivers : undefined });
      }
      const recorded = await library.open(recording.path, recording.isStored, address);
      if (recorded === undefined) throw gone();
      return await answer({ recorded, signal, address });
    });
    return answered ?? reply.hijack();
  }

  async #sendFile(reading: Reading, file: RecordingFile, name: string): Promise<FastifyReply> {
    switch (file.type) {
      case 'multivariant':
        return await this.#sendMultivariant(reading);
      case 'playlist':
        if (isWhole(reading.span)) return await this.#sendPlaylist(reading, file.rendition, name);
        await this.#awaitEnd(reading); // before its turn, which others need meanwhile
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

  /** Sends a text that is not kept. One about a long span waits for its turn, so that others get the event loop and the compressor, too. */
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

/**
 * The milliseconds that a viewer watches with this media of a replay. 0 for the audio beside video, because every player loads it in addition,
 * and 0 while the recording runs, because its viewers are counted as those of the stream.
 */
function watchedMsOf(
  found: FoundRecording,
  { extent }: Recorded,
  rendition: string,
  { durationMs }: RecordedMedia,
): number {
  const isBeside = rendition === AUDIO_RENDITION && extent.tracks.some(({ kind }) => kind === 'video');
  return isBeside || isRunning(found) ? 0 : durationMs;
}

/** The folder that has the viewer's ticket in its URL, relative to the requested file. Empty when URIs need no ticket. */
function ticketFolder({ admission, ticket }: Reading): string {
  // A file below a ticket needs none in its URIs, because they are relative and so lead to files below the same ticket.
  const made = admission.restricted && ticket === undefined ? admission.ticket?.() : undefined;
  return made === undefined ? '' : `v/${made}/`;
}

const NO_SPAN: ReturnType<typeof parseSpan> = { from: undefined, to: undefined };

/** The span that the URL of a request asks for. Undefined when it asks for none. */
function parseSpanOf(request: FastifyRequest): ReturnType<typeof parseSpan> | undefined {
  const span = parseSpan(request.query as Readonly<Record<string, unknown>>);
  return span.from === undefined && span.to === undefined ? undefined : span;
}

/** Whether an excerpt has no bounds. The playlists of a whole recording are kept. */
const isWhole = ({ fromMs, untilMs }: Excerpt): boolean => fromMs === undefined && untilMs === undefined;

function gone(): MillraceError {
  return new MillraceError('not_found', 'There is no such recording, or it has no file with this name and time.');
}

function pictureless(): MillraceError {
  return new MillraceError('not_found', 'This recording has no thumbnail for this time.');
}
