/**
 * The client of the public API: what any program could send, with the token of the session in place of an API key.
 */
import type { ApiChange } from './curl.ts';
import { ApiError } from './errors.ts';
import { API } from './place.ts';
import { RepeatKeys } from './repeat-keys.ts';
import { noteServerTime } from './server-clock.ts';
import { bearer, errorOf, forgetToken } from './session.ts';

/** The options of a request. */
export interface RequestOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** The same for every repeat of one action, so that it is carried out once. */
  readonly idempotencyKey?: string;
}

/** A part of a list. */
export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** The path of the next page; undefined on the last one. */
  readonly next: string | undefined;
  /** The length of the whole list, where it was asked for. */
  readonly total: number | undefined;
}

/** Reads. @throws {ApiError} */
export async function get<Answer>(path: string, options?: RequestOptions): Promise<Answer> {
  return (await (await send('GET', path, options)).json()) as Answer;
}

/** Reads one page of a list. @throws {ApiError} */
export async function list<Row>(path: string, options?: RequestOptions): Promise<ListPage<Row>> {
  const response = await send('GET', path, options);
  const total = response.headers.get('x-total-count');
  return {
    rows: (await response.json()) as readonly Row[],
    next: nextOf(response.headers.get('link')),
    total: total === null ? undefined : Number(total),
  };
}

/** How long a change may take, so that no dialog waits for ever. Its outcome is then unknown, as after any lost answer. */
const CHANGE_LIMIT_MS = 60_000;
const repeatKeys = new RepeatKeys();

/**
 * Changes something. When the answer to a POST is lost, sending the same again does not carry it out twice.
 * @returns the answer; undefined for a PATCH or DELETE, which the API answers without a body
 * @throws {ApiError}
 */
export async function change<Answer = unknown>(...[method, path, body]: ApiChange): Promise<Answer> {
  const ask = async (options: RequestOptions) => {
    const response = await send(method, path, { ...options, signal: AbortSignal.timeout(CHANGE_LIMIT_MS) });
    return (response.status === 204 ? undefined : await response.json()) as Answer;
  };
  if (method !== 'POST') return await ask({ body });
  return await repeatKeys.use(JSON.stringify([path, body]), (idempotencyKey) => ask({ body, idempotencyKey }));
}

/** Reads a picture or a file, which an `<img>` cannot ask for with a token. @throws {ApiError} */
export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const response = await attempt(method, path, options);
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.status !== 401) throw error;
  // The token may have ended with a change of the server's clock, or the server's secret. Renewing says whether the session has ended.
  forgetToken();
  const again = await attempt(method, path, options);
  if (again.ok) return again;
  throw await errorOf(again);
}

async function attempt(method: string, path: string, options: RequestOptions): Promise<Response> {
  const { body, signal, idempotencyKey } = options;
  const headers: Record<string, string> = { authorization: `Bearer ${await bearer()}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
  try {
    const response = await fetch(API + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
    noteServerTime(response);
    return response;
  } catch (error) {
    if (signal?.aborted && (error as Error).name !== 'TimeoutError') throw error;
    throw new ApiError(0, 'unreachable', 'The server cannot be reached. Trying again will help once it is back.');
  }
}

/** The path of the next page below the API, from the URL in a `Link` header. */
export function nextOf(link: string | null): string | undefined {
  const url = /<([^>]+)>;\s*rel="?next"?/.exec(link ?? '')?.[1];
  if (url === undefined) return undefined;
  const { pathname, search } = new URL(url, API);
  const prefix = new URL(API).pathname.replace(/\/$/, '');
  return (pathname.startsWith(prefix) ? pathname.slice(prefix.length) : pathname) + search;
}
