/**
 * Identifies viewers by their address and user agent. A node that asks another node on behalf of its viewers names them in headers that
 * only nodes can make, so that the node with the stream counts each viewer once, whichever node the viewer asks. A request for a
 * recording is for one viewer, whose address is in a header, too.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Secret } from '#domain/secret.ts';
import type { ReportedViewer, Viewer } from '#live/viewers.ts';

/** The header that carries names of viewers, separated by commas, and the proof that a node made it. */
export const VIEWERS_HEADER = 'x-millrace-viewers';
/**
 * The header with a number: the views of so many of the first viewers in {@link VIEWERS_HEADER} have not been counted yet. When it is absent,
 * none have been counted. It is a header of its own, because nodes of earlier versions neither send nor understand it. It counts only
 * beside {@link VIEWERS_HEADER}.
 */
const NEW_VIEWERS_HEADER = 'x-millrace-new-viewers';
/** The header with the address of the one viewer for whom a node passes a request on. It counts only beside {@link VIEWERS_HEADER}. */
const ADDRESS_HEADER = 'x-millrace-viewer-address';

/** Longer user agents are truncated, because the client chooses them. */
const MAX_USER_AGENT_LENGTH = 200;
/**
 * The length of a viewer's name in characters. They hold 72 bits of a hash: enough for a million viewers, and short enough for hundreds in
 * one header.
 */
const NAME_LENGTH = 12;

/** Names viewers by a hash that reveals neither address nor user agent. */
export class ViewerNames {
  readonly #secret: Secret | undefined;
  readonly #onNode: ((request: FastifyRequest) => void) | undefined;
  /** The parsed headers of requests in progress, because several steps of an answer need them. */
  readonly #told = new WeakMap<FastifyRequest, readonly ReportedViewer[] | undefined>();

  /**
   * @param secret the secret of all nodes; undefined on a single server, which accepts no such header
   * @param onNode called with each request that another node has sent
   */
  constructor(secret: Secret | undefined, onNode?: (request: FastifyRequest) => void) {
    this.#secret = secret;
    this.#onNode = onNode;
  }

  /** The viewer that sent a request. */
  of(request: FastifyRequest): Viewer {
    const userAgent = request.headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? '';
    const address = request.ip;
    return { name: hash('sha256', `${address} ${userAgent}`, 'base64url').slice(0, NAME_LENGTH), address };
  }

  /** The viewers that another node names in its request for this stream. Undefined when a viewer sent the request itself. */
  told(request: FastifyRequest, playbackId: string): readonly ReportedViewer[] | undefined {
    const header = request.headers[VIEWERS_HEADER];
    if (this.#secret === undefined || typeof header !== 'string') return undefined;
    if (!this.#told.has(request)) {
      const names = this.#read(header, playbackId, this.#secret);
      const newOnes = Number(request.headers[NEW_VIEWERS_HEADER] ?? Number.POSITIVE_INFINITY);
      const viewers = names?.map((name, index) => ({ name, isNew: index < newOnes }));
      this.#told.set(request, viewers);
      if (viewers !== undefined) this.#onNode?.(request);
    }
    return this.#told.get(request);
  }

  #read(header: string, playbackId: string, secret: Secret): readonly string[] | undefined {
    const [names = ''] = header.split('.', 1);
    const expected = Buffer.from(this.#sign(playbackId, names, secret));
    const given = Buffer.from(header);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    return names === '' ? [] : names.split(',');
  }

  /** The headers that name these viewers to another node. */
  header(playbackId: string, viewers: readonly ReportedViewer[]): Readonly<Record<string, string>> {
    if (this.#secret === undefined) return {};
    const newOnes = viewers.filter(({ isNew }) => isNew);
    const counted = viewers.filter(({ isNew }) => !isNew);
    const names = [...newOnes, ...counted].map(({ name }) => name).join(',');
    const named = { [VIEWERS_HEADER]: this.#sign(playbackId, names, this.#secret) };
    return counted.length === 0 ? named : { ...named, [NEW_VIEWERS_HEADER]: String(newOnes.length) };
  }

  /** The headers with which a viewer's request is passed on to another node: they name the viewer and its address. */
  passingOn(request: FastifyRequest, playbackId: string): Readonly<Record<string, string>> {
    // The other node counts the view of a viewer that it does not know. In the seconds in which a recording is still being ended there and
    // the stream already runs here, this node may have counted it, too.
    const { name } = this.of(request);
    return { ...this.header(playbackId, [{ name, isNew: true }]), [ADDRESS_HEADER]: request.ip };
  }

  /** The address of the viewer who gets the answer. It is not the address of the sender when another node has passed the request on. */
  addressOf(request: FastifyRequest, playbackId: string): string {
    const address = request.headers[ADDRESS_HEADER];
    const isPassedOn = typeof address === 'string' && this.told(request, playbackId) !== undefined;
    return isPassedOn ? address : request.ip;
  }

  #sign(playbackId: string, names: string, secret: Secret): string {
    return `${names}.${createHmac('sha256', secret.reveal()).update(`${playbackId} ${names}`).digest('base64url')}`;
  }
}
