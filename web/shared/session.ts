/**
 * Who is signed in, and the token for the API. The token lives for minutes, is kept in a variable of the page and nowhere else, and is
 * renewed by the cookie, which opens no other route.
 */
import { signal } from '@preact/signals';
import { ApiError } from './errors.ts';
import { ROOT } from './place.ts';
import type { Rule } from './rights.ts';
import { noteServerTime } from './server-clock.ts';

/** Who is signed in. */
export interface SignedIn {
  readonly sessionId: string;
  readonly user: { readonly id: string; readonly name: string; readonly isAdmin: boolean };
  /** The API key that was used to sign in, with its rules. Absent for a session that began with a link. */
  readonly key?: {
    readonly id: string;
    readonly name: string;
    readonly access?: { readonly rules: readonly Rule[] };
  };
}

interface TokenAnswer extends SignedIn {
  readonly token: string;
  /** The newest event when the token was made. A server of an earlier version does not send it. */
  readonly lastEventId?: number;
}

/** A token is renewed this long before it expires, so that no request has an expired one. */
const RENEW_MS = 60_000;
/** How long a request about the session may take. All others wait for a token, and the next request may find a connection that works. */
const LIMIT_MS = 15_000;
/** Milliseconds that a token lives by this page's clock, which need not agree with the server's. */
const LIFE_MS = 10 * 60_000;

/** Who is signed in; undefined while that is unknown, null when nobody is. */
export const signedIn = signal<SignedIn | null | undefined>(undefined);

/** Why the user has been signed out, for the sign-in page. */
export const signedOutBecause = signal<string | undefined>(undefined);

/**
 * The token, and until when it is used by each of two clocks: `performance.now()` stands still while a machine sleeps, and `Date.now()` may
 * be set back.
 */
let token: { readonly value: string; readonly until: number; readonly untilDate: number } | undefined;
let renewing: Promise<string> | undefined;
/** The newest event when this page got its first token. The page had loaded no data before, because everything that it loads needs a token. */
let lastEventId: number | undefined;

/** The newest event before this page loaded any data. Undefined before the first token. */
export function eventBeforePage(): number | undefined {
  return lastEventId;
}

/** A token that is valid now. @throws {ApiError} 401 when nobody is signed in, which the frame shows by itself */
export async function bearer(): Promise<string> {
  if (token !== undefined && performance.now() < token.until && Date.now() < token.untilDate) return token.value;
  renewing ??= renew().finally(() => {
    renewing = undefined;
  });
  return await renewing;
}

/** Forgets the token, because the API refused it. */
export function forgetToken(): void {
  token = undefined;
}

/** Signs in with a link's secret or an API key. @throws {ApiError} */
export async function signIn(credentials: { readonly link: string } | { readonly key: string }): Promise<void> {
  accept((await post('dashboard/session', credentials)) as TokenAnswer);
  signedOutBecause.value = undefined;
}

/** Signs out here. */
export async function signOut(): Promise<void> {
  await post('dashboard/session/end', {});
  token = undefined;
  signedIn.value = null;
}

async function renew(): Promise<string> {
  try {
    return accept((await post('dashboard/session/token', {})) as TokenAnswer);
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
      if (signedIn.value != null) signedOutBecause.value = error.message;
      signedIn.value = null;
    }
    throw error;
  }
}

function accept({ token: value, lastEventId: last, sessionId, user, key }: TokenAnswer): string {
  lastEventId ??= last;
  const who = { sessionId, user, ...(key && { key }) };
  const usedMs = LIFE_MS - RENEW_MS;
  token = { value, until: performance.now() + usedMs, untilDate: Date.now() + usedMs };
  if (JSON.stringify(signedIn.value) !== JSON.stringify(who)) signedIn.value = who;
  return value;
}

async function post(path: string, body: object): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(new URL(path, ROOT), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    noteServerTime(response);
    if (response.ok) return response.status === 204 ? undefined : await response.json();
  } catch {
    throw new ApiError(0, 'unreachable', 'The server cannot be reached.');
  }
  throw await errorOf(response);
}

/** The error of an answer that is not a success. */
export async function errorOf(response: Response): Promise<ApiError> {
  const retryAfterS = Number(response.headers.get('retry-after')) || undefined;
  try {
    const { errors, code, requestId } = (await response.json()) as {
      errors: readonly string[];
      code: string;
      requestId: string;
    };
    return new ApiError(response.status, code, errors.join(' '), requestId, retryAfterS);
  } catch {
    // A proxy answered.
    return new ApiError(response.status, 'unknown', `The server answered ${response.status}.`, undefined, retryAfterS);
  }
}
