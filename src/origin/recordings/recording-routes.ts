/**
 * Serves recordings and clips: playlists, media, MP4s and pictures. The URLs are the same while the recording runs and afterwards.
 *
 * ```
 * /recordings/<path>/index.m3u8, <rendition>.m3u8, <rendition>.mp4, audio.m4a, poster.jpg, storyboard.vtt, sheet-<n>.jpg
 * /recordings/<path>/<rendition>/<name>               segments and init segments, as playlists name them
 * /recordings/<path>/v/<ticket>/<file>                the files of the first line, for one viewer
 * /recordings/<path>/s/<proof>/<rendition>/<name>     the media in the playlists of such viewers, at one URL for all of them
 * ```
 *
 * The last two are used where a right is needed: for restricted streams, and for running recordings that only their owner may watch.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { isMediaPath } from '#domain/ids.ts';
import { isRestricted } from '#domain/playback-policy.ts';
import { AUDIO_RENDITION } from '#domain/profile.ts';
import { HeldRequests } from '#origin/held-requests.ts';
import { HELD, type OriginContext } from '#origin/origin-context.ts';
import { isResourceName, isSealed } from '#origin/resource-name.ts';
import type { PlaybackAdmission } from '#origin/rights/playback-gate.ts';
import type { Library, Recorded, RecordedMedia } from '#recording/recording.ts';
import type { InTurn, RecordingsElsewhere } from './elsewhere.ts';
import {
  gone,
  MAX_WAITING_OF_HOST,
  makingTurns,
  type Opened,
  RecordingAnswers,
  type RecordingAnswersOptions,
} from './recording-answers.ts';
import { parseRecordingFile, recordingUrl } from './recording-file.ts';
import { isOwners, isOwnersOnly, isRunning, ownersOnly, type RecordingRights } from './recording-rights.ts';
import type { FoundRecording } from './recordings.ts';
import { sendFile } from './send-bytes.ts';
import { excerptOf, narrow, parseSpan } from './span.ts';

/** The most answers that may be read from disks and object stores at the same time. */
const MAX_READS = 1000;
/** The most requests for made files that wait for other nodes. The limit keeps this node from taking all the places at another one. */
const MAX_MADE_ELSEWHERE = MAX_WAITING_OF_HOST;

/** What the routes need besides the context of the origin. */
export interface RecordingRoutesOptions extends RecordingRights, RecordingAnswersOptions {
  readonly library: Library;
  /** Passes requests on to other nodes. Undefined when this server is the only one. */
  readonly elsewhere: RecordingsElsewhere | undefined;
}

/** Adds the routes below `/recordings/`. */
export function recordingRoutes(app: FastifyInstance, context: OriginContext, options: RecordingRoutesOptions): void {
  const requests = new RecordingRequests(context, options);
  app.addHook('preClose', async () => requests.release());
  app.get<{ Params: Omit<AskedFile, 'ticket'> }>('/recordings/:path/:file', HELD, (request, reply) =>
    requests.file(reply, { ...request.params, ticket: undefined }),
  );
  // A wildcard is used, because a ticket may be longer than the limit for parameters.
  app.get<{ Params: { readonly path: string; readonly '*': string } }>(
    '/recordings/:path/v/*',
    HELD,
    (request, reply) => {
      const [ticket = '', file = '', ...rest] = request.params['*'].split('/');
      if (!isSealed(ticket) || rest.length > 0) throw gone();
      return requests.file(reply, { path: request.params.path, file, ticket });
    },
  );
  app.get<{ Params: Omit<AskedMedia, 'proof'> }>('/recordings/:path/:rendition/:name', HELD, (request, reply) =>
    requests.media(reply, { ...request.params, proof: undefined }),
  );
  app.get<{ Params: AskedMedia & { proof: string } }>(
    '/recordings/:path/s/:proof/:rendition/:name',
    HELD,
    (request, reply) => requests.media(reply, request.params),
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

/** A viewer that was counted for its request for a playlist. */
interface NotedViewer {
  /** False when the owner's limit of viewers is reached. */
  readonly isPlaced: boolean;
  /**
   * Counts the view of a replay at the node that the viewer asks. Called when a multivariant playlist was sent: players load media playlists
   * once, and again minutes later when they change the rendition. Does nothing for a viewer who watches already.
   */
  readonly countReplay: () => void;
}

class RecordingRequests {
  readonly #context: OriginContext;
  readonly #options: RecordingRoutesOptions;
  readonly #answers: RecordingAnswers;
  readonly #reads = new HeldRequests(MAX_READS);
  readonly #turnsElsewhere = makingTurns(MAX_MADE_ELSEWHERE);

  constructor(context: OriginContext, options: RecordingRoutesOptions) {
    this.#context = context;
    this.#options = options;
    this.#answers = new RecordingAnswers(context, options);
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
    // Nobody has a ticket for what needs none.
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
      return await this.#answers.send(reading, file, name);
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
    // Wrong tokens and access keys that another node has passed on count against the network of the viewer, not against that node.
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

const NO_SPAN: ReturnType<typeof parseSpan> = { from: undefined, to: undefined };

/** The span that the URL of a request asks for. Undefined when it asks for none. */
function parseSpanOf(request: FastifyRequest): ReturnType<typeof parseSpan> | undefined {
  const span = parseSpan(request.query as Readonly<Record<string, unknown>>);
  return span.from === undefined && span.to === undefined ? undefined : span;
}
