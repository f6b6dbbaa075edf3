/**
 * Answers a list page by page: the rows, the link to the next page, and the total number if the query wants it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PageKey } from '#store/page.ts';
import type { RouteContext } from './api.ts';
import { encodeCursor } from './cursor.ts';
import { type RawQuery, readFlag } from './query.ts';

/** Query parameters that the URL of the next page keeps. Others are not repeated, because they may hold anything. */
const KEPT = [
  'limit',
  'order',
  'filters',
  'active',
  'streamsonly',
  'sessionsonly',
  'parentId',
  'playbackId',
  'phase',
  'record',
  'count',
  'all',
  'userId',
  'resourceId',
  'type',
  'streamId',
  'from',
  'to',
  'success',
  'state',
];

/**
 * Sets the `Link` header when there is a next page.
 * @param path relative to the API prefix, such as `/stream`
 * @param list see {@link encodeCursor}
 */
export function linkNext(
  request: FastifyRequest,
  reply: FastifyReply,
  { publicUrl, settings }: Pick<RouteContext, 'publicUrl' | 'settings'>,
  { path, list, next }: { readonly path: string; readonly list: string; readonly next: PageKey | undefined },
): void {
  if (!next) return;
  const query = request.query as RawQuery;
  const kept = KEPT.flatMap((name) => (typeof query[name] === 'string' ? [[name, query[name]]] : []));
  const parameters = new URLSearchParams([...kept, ['cursor', encodeCursor(list, next)]] as [string, string][]);
  reply.header('link', `<${publicUrl(request)}${settings.prefix}${path}?${parameters.toString()}>; rel="next"`);
}

/** Sets `X-Total-Count`, the length of the whole list, when the query has `count`. */
export async function sendCount(
  request: FastifyRequest,
  reply: FastifyReply,
  count: () => Promise<number>,
): Promise<void> {
  if (readFlag(request.query as RawQuery, 'count')) reply.header('x-total-count', String(await count()));
}
