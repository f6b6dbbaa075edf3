/**
 * Serves sessions that run on other nodes.
 *
 * A viewer may ask any node for any stream, for example through one host name for all nodes. However many viewers a node has, it requests
 * each playlist, part and segment from the other node only once, by the resource's one URL, and passes on nothing that a viewer chose.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ERRORS, type ErrorCode, MillraceError } from '#domain/errors.ts';
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import type { MediaResource, PlaylistDirectives, RenderedPlaylist, Waiting } from '#hls/hls.ts';
import type { Clock } from '#lib/clock.ts';
import type { Audience } from '#live/live.ts';
import type { ViewerQuota } from '#live/viewers.ts';
import { sharedMaxAgeMs } from './caching.ts';
import type { Owner, Owners } from './owners.ts';
import { type PeerAnswer, PeerClient, type PeerClientOptions, unreachableNode } from './peer-client.ts';
import { mediaUrl, multivariantUrl, playlistUrl, thumbnailUrl } from './resource-url.ts';
import { SharedAnswers } from './shared-answers.ts';
import type { Showing } from './showing.ts';
import type { ViewerNames } from './viewer.ts';

const decompress = promisify(gunzip);
/** The largest accepted playlist, uncompressed: ten times the size of a playlist of one hour that names every part. */
const MAX_PLAYLIST_BYTES = 16 * 1024 * 1024;
/** How long media and playlists with a blocking directive are kept. Viewers request them one after another within seconds. */
const FINAL_KEPT_MS = 5000;
/** How long other playlists are kept. This limits requests to four a second however many viewers ask, and the answer is hardly older. */
const CURRENT_KEPT_MS = 250;
const MAX_KEPT_BYTES = 128 * 1024 * 1024;
/** The number of viewers that one request names to the other node, in about 5 kB. */
const MAX_TOLD = 400;

/** The options of {@link Peers}. */
export interface PeersOptions extends PeerClientOptions {
  readonly owners: Owners;
  readonly viewers: ViewerNames;
  /** Knows which viewers another node has not been told about yet. */
  readonly audience: Pick<Audience, 'takeUnreported' | 'reported'>;
  readonly clock: Clock;
}

/** The stream or session that a viewer asks for. */
export interface Sought {
  readonly playbackId: PlaybackId;
  readonly mediaPath: MediaPath | undefined;
  /** The viewer's address. */
  readonly address: string;
}

/** Finds and serves sessions of all other nodes. */
export class Peers implements AsyncDisposable {
  readonly #options: PeersOptions;
  readonly #client: PeerClient;
  readonly #answers: SharedAnswers<Received>;

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#client = new PeerClient(options);
    this.#answers = new SharedAnswers<Received>({ maxKeptBytes: MAX_KEPT_BYTES, clock: options.clock });
  }

  /**
   * Finds what a viewer asks for, if another node has it.
   * @throws {MillraceError} `store_unavailable`, `too_many_viewers`
   */
  async find({ playbackId, mediaPath, address }: Sought): Promise<Showing | undefined> {
    const owner = await this.#options.owners.find(playbackId, mediaPath, address);
    return owner && new ShowingElsewhere(playbackId, mediaPath, owner, (request) => this.#get(owner, request));
  }

  /** Aborts every request in progress. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#client[Symbol.asyncDispose]();
  }

  async #get(
    { origin }: Owner,
    { url, keptForMs, playbackId, mediaPath, isPlaylist, waiting }: Request,
  ): Promise<Received> {
    const { owners, viewers, audience } = this.#options;
    let isOwn = false;
    const ask = async (signal: AbortSignal): Promise<Received> => {
      isOwn = true;
      const reports = isPlaylist ? audience.takeUnreported(playbackId, MAX_TOLD) : [];
      const headers = { 'accept-encoding': 'gzip', ...viewers.header(playbackId, reports) };
      try {
        const answer = await receive(await this.#client.get(origin, url, { headers, signal }), keptForMs);
        // The owner counts viewers before they wait for the publisher. If it refuses for another reason, it may not have counted anybody.
        const isCounted = answer.status === 200 || answer.refusal?.code === 'playlist_timeout';
        if (isCounted) audience.reported(playbackId, reports);
        return answer;
      } catch (error) {
        if (error instanceof MillraceError && error.code === 'node_unreachable' && !signal.aborted) {
          owners.forget(playbackId, mediaPath);
        }
        throw error;
      }
    };
    const name = `${origin}${url}`;
    const received = await this.#answers.get(name, ask, waiting);
    // The node may have answered before this viewer asked. A resource that did not exist for an earlier request may exist by now.
    const isStale = !isOwn && (received.status === 400 || received.status === 404);
    return isStale ? await this.#answers.get(name, ask, waiting) : received;
  }
}

/** A request for one resource. */
interface Request {
  readonly url: string;
  readonly playbackId: PlaybackId;
  readonly mediaPath: MediaPath | undefined;
  /** Whether it is a playlist. Only requests for playlists count as viewers, whom the other node is told about. */
  readonly isPlaylist: boolean;
  /** The longest time that the answer may be kept on this node. The other node may allow less. */
  readonly keptForMs: number;
  readonly waiting: Waiting;
}

/** An answer in the form in which this node keeps it. */
interface Received {
  readonly status: number;
  readonly contentType: string;
  readonly cacheControl: string;
  readonly sizeBytes: number;
  readonly keptForMs: number;
  readonly pieces: readonly Uint8Array[];
  /** The playlist in the body. Undefined when the body is something else. */
  readonly playlist: RenderedPlaylist | undefined;
  /** The node's refusal. Undefined when it gave the resource. */
  readonly refusal: MillraceError | undefined;
}

/** Serves a session that runs on another node, with that node's answers and refusals. */
class ShowingElsewhere implements Showing {
  readonly quota: ViewerQuota;
  readonly #playbackId: PlaybackId;
  readonly #mediaPath: MediaPath | undefined;
  readonly #get: (request: Request) => Promise<Received>;

  constructor(
    playbackId: PlaybackId,
    mediaPath: MediaPath | undefined,
    { quota }: Owner,
    get: (request: Request) => Promise<Received>,
  ) {
    this.#playbackId = playbackId;
    this.#mediaPath = mediaPath;
    this.quota = quota;
    this.#get = get;
  }

  multivariant(waiting: Waiting) {
    return this.#playlist(multivariantUrl(this.#playbackId), CURRENT_KEPT_MS, waiting);
  }

  playlist(rendition: string, directives: PlaylistDirectives, waiting: Waiting) {
    const url = playlistUrl(this.#playbackId, this.#path, rendition, directives);
    return this.#playlist(url, directives.msn === undefined ? CURRENT_KEPT_MS : FINAL_KEPT_MS, waiting);
  }

  async media(rendition: string, name: string, waiting: Waiting) {
    const url = mediaUrl(this.#playbackId, this.#path, rendition, name);
    const received = await this.#ask(url, { keptForMs: FINAL_KEPT_MS, isPlaylist: false }, waiting);
    const { status, contentType, cacheControl, pieces, sizeBytes, refusal } = received;
    if (status === 404) return { type: 'not_found' } as const;
    if (refusal?.code === 'playlist_timeout') return { type: 'timeout' } as const;
    if (refusal !== undefined) throw refusal;
    const resource: MediaResource = { pieces, sizeBytes, contentType };
    return { type: 'media', resource, cacheControl } as const;
  }

  async thumbnail(waiting: Waiting) {
    const url = thumbnailUrl(this.#playbackId);
    const received = await this.#ask(url, { keptForMs: CURRENT_KEPT_MS, isPlaylist: false }, waiting);
    const { status, cacheControl, pieces, refusal } = received;
    if (status === 404) return { type: 'not_found' } as const;
    if (refusal !== undefined) throw refusal;
    return { type: 'jpeg', bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), cacheControl } as const;
  }

  get #path(): MediaPath {
    if (this.#mediaPath === undefined) throw new Error('a session that was found by its playback id only has no media');
    return this.#mediaPath;
  }

  async #playlist(url: string, keptForMs: number, waiting: Waiting) {
    const received = await this.#ask(url, { keptForMs, isPlaylist: true }, waiting);
    const { status, cacheControl, playlist, refusal } = received;
    if (status === 400 && refusal !== undefined) return { type: 'bad_request', reason: refusal.message } as const;
    if (status === 404) return { type: 'not_found' } as const;
    if (refusal?.code === 'playlist_timeout') return { type: 'timeout' } as const;
    if (playlist === undefined) throw refusal ?? unreachableNode();
    return { type: 'playlist', playlist, validity: 'unshared', cacheControl } as const;
  }

  #ask(url: string, how: Pick<Request, 'keptForMs' | 'isPlaylist'>, waiting: Waiting): Promise<Received> {
    return this.#get({ url, playbackId: this.#playbackId, mediaPath: this.#mediaPath, waiting, ...how });
  }
}

/** Reads an answer, once for all who share it. @throws {MillraceError} `node_unreachable` when it is invalid */
async function receive({ status, headers, pieces, sizeBytes }: PeerAnswer, keptForMs: number): Promise<Received> {
  const contentType = headers['content-type'] ?? '';
  const cacheControl = headers['cache-control'] ?? 'no-store';
  const basis = { status, contentType, cacheControl, pieces, sizeBytes };
  if (status !== 200) {
    const refusal = refusalOf(status, headers['retry-after'], pieces);
    return { ...basis, keptForMs: 0, playlist: undefined, refusal };
  }
  const playlist = headers['content-encoding'] === 'gzip' ? await readPlaylist(pieces) : undefined;
  const heldBytes = sizeBytes + (playlist === undefined ? 0 : Buffer.byteLength(playlist.text));
  const allowedMs = Math.min(keptForMs, sharedMaxAgeMs(cacheControl));
  return { ...basis, sizeBytes: heldBytes, keptForMs: allowedMs, playlist, refusal: undefined };
}

async function readPlaylist(pieces: readonly Uint8Array[]): Promise<RenderedPlaylist> {
  const gzipped = Buffer.concat(pieces);
  try {
    const text = (await decompress(gzipped, { maxOutputLength: MAX_PLAYLIST_BYTES })).toString();
    return { text, gzip: async () => gzipped, ended: text.includes('\n#EXT-X-ENDLIST') };
  } catch (error) {
    throw unreachableNode(error);
  }
}

/** Makes an error of a node's refusal, with its code and text. An invalid refusal counts as no answer. */
function refusalOf(status: number, retryAfter: string | undefined, pieces: readonly Uint8Array[]): MillraceError {
  const { code, sentence } = readRefusal(pieces);
  if (code === undefined || ERRORS[code].status !== status) return unreachableNode(new Error(`status ${status}`));
  const retryAfterS = Number(retryAfter);
  return new MillraceError(code, sentence, retryAfterS > 0 ? { retryAfterS } : {});
}

function readRefusal(pieces: readonly Uint8Array[]): { readonly code?: ErrorCode; readonly sentence: string } {
  try {
    const { code, errors } = JSON.parse(Buffer.concat(pieces).toString()) as { code?: unknown; errors?: unknown };
    const [sentence] = Array.isArray(errors) ? (errors as unknown[]) : [];
    const isKnown = typeof code === 'string' && Object.hasOwn(ERRORS, code);
    return isKnown && typeof sentence === 'string' ? { code: code as ErrorCode, sentence } : { sentence: '' };
  } catch {
    return { sentence: '' };
  }
}
