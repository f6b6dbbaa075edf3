/**
 * What the origin's routes share.
 */
import type { Audience, LiveDirectory } from '#live/live.ts';
import type { CacheControl } from './caching.ts';
import type { HeldRequests } from './held-requests.ts';
import type { ViewerNames } from './viewer.ts';

/** Made once by the plugin, handed to each route file. */
export interface OriginContext {
  readonly live: LiveDirectory;
  readonly audience: Audience;
  readonly viewers: ViewerNames;
  readonly held: HeldRequests;
  readonly cacheControl: CacheControl;
}

/** For routes that answer only once media exists: how long they take says nothing of the server's speed. */
export const HELD = { config: { held: true } } as const;
