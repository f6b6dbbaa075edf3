/**
 * Finds out whom a bearer credential stands for: the user of an API key, or of a browser that is signed in to the dashboard.
 */
import { type BrowserTokens, isOver } from '#domain/browser-session.ts';
import type { ApiKeyId, BrowserSessionId } from '#domain/ids.ts';
import type { Secret } from '#domain/secret.ts';
import type { ApiKey, User } from '#domain/user.ts';
import type { Clock } from '#lib/clock.ts';
import { type Soon, whenKnown } from '#lib/soon.ts';
import type { Store } from '#store/store.ts';

/** Whom a valid credential stands for, and what it may be used for. */
export interface Credential {
  /** The id of the API key, or of the browser session if that was made with a sign-in link. */
  readonly id: ApiKeyId | BrowserSessionId;
  /** The name of the API key, or {@link LINK_SESSION_NAME}. */
  readonly name: string;
  /** The API key; undefined for a session made with a sign-in link. */
  readonly key: ApiKey | undefined;
  /** The browser session; undefined for a request with an API key. */
  readonly sessionId: BrowserSessionId | undefined;
  readonly access: ApiKey['access'];
  readonly user: User;
}

/** What stands in place of an API key's name for a session that was made with a sign-in link. */
const LINK_SESSION_NAME = 'dashboard';

/**
 * Finds whom a credential stands for at the time of the call. Returns no promise if the store remembers it. Undefined when it is not valid.
 * @param stranger the address that presented it, unless it was valid from there before
 */
export type FindCredential = (presented: Secret, stranger?: string) => Soon<Credential | undefined>;

/** Makes the function that finds whom a credential stands for. */
export function createFindCredential({
  store,
  tokens,
  clock,
}: {
  readonly store: Pick<Store, 'apiKeys' | 'browserSessions'>;
  readonly tokens: BrowserTokens;
  readonly clock: Clock;
}): FindCredential {
  const ofToken = async (token: Secret): Promise<Credential | undefined> => {
    const now = clock.now();
    const sessionId = tokens.read(token, now);
    if (sessionId === undefined) return undefined;
    const open = await store.browserSessions.byId(sessionId);
    if (open === undefined || isOver(open, now)) return undefined;
    const { key, user } = open;
    if (key !== undefined) return credentialOf(key, user, sessionId);
    return { id: sessionId, name: LINK_SESSION_NAME, key: undefined, sessionId, access: undefined, user };
  };
  return (presented, stranger) =>
    tokens.issued(presented)
      ? ofToken(presented)
      : whenKnown(
          store.apiKeys.byHash(presented.hash(), stranger),
          (found) => found && credentialOf(found.key, found.user),
        );
}

const credentialOf = (key: ApiKey, user: User, sessionId?: BrowserSessionId): Credential => ({
  id: key.id,
  name: key.name,
  key,
  sessionId,
  access: key.access,
  user,
});
