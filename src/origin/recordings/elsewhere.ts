/**
 * Passes requests for recordings on to the node whose disk has them, and passes its answers back while they arrive. Both nodes check the
 * viewer's right, so the headers with which the viewer proves it are passed on, with those that the answer depends on, and no others.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { Agent } from 'undici';
import { unreachableNode } from '#origin/peer-client.ts';
import { pageOriginOf } from '#origin/rights/page-origin.ts';
import type { OnSent } from '#origin/viewer-connection.ts';
import { MS_PER_BYTE_HEADER, sendStream } from './send-bytes.ts';

const CONNECT_TIMEOUT_MS = 2000;
/**
 * How long the other node may take to answer. It may have to compute the head of a long MP4 first, or wait for the end of a clip, which takes
 * two target durations of 10 s at most.
 */
const HEADERS_TIMEOUT_MS = 25_000;
/** The longest pause in an answer: as long as for a viewer that reads nothing, because then nothing is read from the other node either. */
const BODY_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 30_000;
/** The most connections to one node. Each answer in progress needs one, and at most 1,000 answers about recordings are in progress. */
const MAX_CONNECTIONS = 1000;

const PASSED_ON = [
  'accept-encoding',
  'authorization',
  'if-none-match',
  'if-range',
  'livepeer-access-key',
  'livepeer-jwt',
  'origin',
  'range',
  'referer',
  'sec-fetch-site',
] as const satisfies readonly (keyof IncomingHttpHeaders | string)[];
const PASSED_BACK = [
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'location',
  'retry-after',
  'vary',
] as const;

/** Asks another node when it is the request's turn. The turn ends when the answer begins. */
export type InTurn = <Answer>(ask: () => Promise<Answer>) => Promise<Answer>;

/** Passes requests for recordings on to other nodes. */
export class RecordingsElsewhere implements AsyncDisposable {
  readonly #agent = new Agent({
    connections: MAX_CONNECTIONS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: BODY_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });

  /**
   * Passes a request on, and its answer back.
   * @param origin the URL of the node's HTTP interface, without a path
   * @param added headers that tell the other node which node and which viewer ask
   * @param delivers makes the function that notes bytes of media once they are sent. Undefined for a file that is not media
   * @throws {MillraceError} `node_unreachable` when there is no answer; the signal's reason
   */
  async pass(
    reply: FastifyReply,
    {
      origin,
      added,
      signal,
      inTurn,
      delivers,
    }: {
      origin: string;
      added: Readonly<Record<string, string>>;
      signal: AbortSignal;
      inTurn: InTurn;
      delivers: ((msPerByte: number) => OnSent | undefined) | undefined;
    },
  ): Promise<FastifyReply> {
    const { raw, headers } = reply.request;
    const { pathname, search } = new URL(raw.url ?? '/', 'http://here');
    // The other node has another host, so it would take a page of this node for a page of another origin.
    const isOwnPage = pageOriginOf(reply.request) === undefined;
    const asked = { ...pick(headers, PASSED_ON), ...(isOwnPage && { 'sec-fetch-site': 'same-origin' }) };
    const answer = await inTurn(() =>
      this.#agent
        .request({
          origin,
          path: `${pathname}${search}`,
          method: raw.method === 'HEAD' ? 'HEAD' : 'GET',
          headers: { ...asked, ...added },
          signal,
        })
        .catch((error: unknown) => {
          signal.throwIfAborted();
          throw unreachableNode(error);
        }),
    );
    const { statusCode, headers: answered, body } = answer;
    const onSent = statusCode < 300 ? delivers?.(Number(answered[MS_PER_BYTE_HEADER]) || 0) : undefined;
    return await sendStream(reply, statusCode, pick(answered, PASSED_BACK), body, signal, onSent);
  }

  /** Aborts every request in progress. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#agent.destroy();
  }
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}
