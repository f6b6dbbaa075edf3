/**
 * The tokens with which the user who is signed in watches own streams and recordings that are not public.
 */
import { useEffect, useState } from 'preact/hooks';
import { get } from './api.ts';
import { ApiError } from './errors.ts';
import { serverNow } from './server-clock.ts';
import { signedIn } from './session.ts';
import type { OwnerToken, PlaybackPolicy } from './types.ts';

/** What is watched: the path of a stream, or of a recording or clip, below the API. */
export type WatchedPath = `/stream/${string}` | `/asset/${string}`;

/** A token is replaced this long before it ends. */
const REPLACED_BEFORE_MS = 3_600_000;
/** The pause after a failed request, in milliseconds. The token in use is kept meanwhile. */
const RETRY_MS = 10_000;
/** A wall has up to 100 pictures. */
const MAX_KEPT = 500;

/** The tokens of this page, by session and path, so that pictures of one stream share one. */
const kept = new Map<string, Promise<OwnerToken>>();

/** Whether viewers need a token or access key under a policy. */
export const needsToken = (policy: Pick<PlaybackPolicy, 'type'> | undefined): boolean =>
  policy !== undefined && policy.type !== 'public';

/** The path of the owner's page for viewers: with the token in its fragment, which reaches no server. */
export const withToken = (page: string, token: string | undefined): string => (token ? `${page}#jwt=${token}` : page);

/** The query that files of a stream or recording need; empty when they need none. */
export const tokenQuery = (token: string | undefined): string => (token ? `?jwt=${token}` : '');

/**
 * A token for what is watched, renewed before it ends. Undefined until it is known. Empty when none is needed, and when the user's rules allow
 * none: the server then says that a right is missing.
 */
export function useOwnerToken(path: WatchedPath, isNeeded: boolean): string | undefined {
  const [state, setState] = useState<{ path: string; token: string } | undefined>();
  useEffect(() => {
    if (!isNeeded) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const load = () => {
      tokenOf(path).then(
        ({ token, expiresAt }) => {
          if (isGone) return;
          setState({ path, token });
          timer = setTimeout(load, Math.max(expiresAt - serverNow() - REPLACED_BEFORE_MS, 60_000));
        },
        (error) => {
          if (isGone) return;
          if (isRefusal(error)) setState({ path, token: '' });
          else timer = setTimeout(load, RETRY_MS);
        },
      );
    };
    load();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [path, isNeeded]);
  if (!isNeeded) return '';
  return state?.path === path ? state.token : undefined;
}

/** Whether the server says that the user gets no token. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 403 || error.status === 404);

async function tokenOf(path: WatchedPath): Promise<OwnerToken> {
  const name = `${signedIn.value?.sessionId} ${path}`;
  const known = await kept.get(name)?.catch(() => undefined);
  if (known !== undefined && known.expiresAt - serverNow() > REPLACED_BEFORE_MS) return known;
  if (kept.size >= MAX_KEPT) kept.clear();
  const asked = get<OwnerToken>(`${path}/playback-token`);
  kept.set(name, asked);
  return await asked;
}
