/**
 * The options of the dashboard, which `app.ts` provides.
 */
import type { BrowserTokens } from '#domain/browser-session.ts';
import type { ApiKeyId } from '#domain/ids.ts';
import type { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** The options of the dashboard. */
export interface DashboardOptions {
  readonly store: Pick<Store, 'apiKeys' | 'browserSessions' | 'events' | 'users'>;
  /** Makes the tokens that the API accepts. */
  readonly tokens: BrowserTokens;
  /** Counts wrong links and keys, together with the wrong API keys of requests to the API. */
  readonly throttle: AttemptThrottle;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The path of the API, such as `/api`; empty for the root. */
  readonly apiPrefix: string;
  /** The origin of the server as browsers see it, if the operator has set it. */
  readonly publicUrl: string | undefined;
  /** Whether the server was started at a terminal, so that the dashboard will probably be opened soon. */
  readonly isAttended: boolean;
  /** Called when a user signs in with an API key. */
  readonly onKeyUse?: ((id: ApiKeyId) => void) | undefined;
}
