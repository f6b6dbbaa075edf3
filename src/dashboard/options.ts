/**
 * What the dashboard needs from the rest of the server, provided by `app.ts`.
 */
import type { BrowserTokens } from '#domain/browser-session.ts';
import type { ApiKeyId } from '#domain/ids.ts';
import type { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** What the dashboard needs. */
export interface DashboardOptions {
  readonly store: Pick<Store, 'apiKeys' | 'browserSessions' | 'users'>;
  /** Makes the tokens that the API accepts. */
  readonly tokens: BrowserTokens;
  /** Counts wrong links and keys together with the wrong keys at the API. */
  readonly throttle: AttemptThrottle;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The path of the API, such as `/api`; empty for the root. */
  readonly apiPrefix: string;
  /** The origin that the operator has set. */
  readonly publicUrl: string | undefined;
  /** Whether somebody sits at the terminal of the server, and will open the dashboard soon. */
  readonly isAttended: boolean;
  /** Called when somebody signs in with an API key. */
  readonly onKeyUse?: ((id: ApiKeyId) => void) | undefined;
}
