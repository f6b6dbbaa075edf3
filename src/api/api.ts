/**
 * What the API's routes are given.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
  RawServerDefault,
} from 'fastify';
import type { ApiKeyId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import type { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import type { DestinationGuard } from '#lib/destination-guard.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { Store } from '#store/store.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { Resending } from '#webhooks/webhooks.ts';
import type { ApiSettings } from './config.ts';

/** What the API works with; `app.ts` hands it over. */
export interface ApiOptions {
  readonly settings: ApiSettings;
  /** The quotas of users for whom an admin has set none. */
  readonly quotas: Quotas;
  readonly store: Pick<
    Store,
    | 'apiKeys'
    | 'signingKeys'
    | 'users'
    | 'streams'
    | 'sessions'
    | 'audit'
    | 'idempotency'
    | 'events'
    | 'webhooks'
    | 'listen'
  >;
  readonly live: LiveDirectory;
  /** The same one that RTMP asks, so that guesses over both are counted together. */
  readonly throttle: AttemptThrottle;
  readonly clock: Clock;
  /** The origin (`https://live.example.com`) that the sender of a request reaches this server by. */
  readonly publicUrl: (request: FastifyRequest) => string;
  /**
   * Where to publish to, for somebody who reaches this server by that host name: without the stream key, in the order to be
   * offered. Asked at each request, as ingest may start listening after the API was made.
   */
  readonly publishUrls: (hostname: string) => readonly string[];
  /** Sends to webhooks once more what was sent before. */
  readonly resending: Resending;
  /** Judges the URLs of webhooks. */
  readonly guard: Pick<DestinationGuard, 'problemOf'>;
  readonly metrics: Pick<Metrics, 'eventStreams'>;
  /** Called at every use of a valid API key. */
  readonly onKeyUse?: ((id: ApiKeyId) => void) | undefined;
}

/** What a route is made with. */
export interface RouteContext extends ApiOptions {
  /** Hook of routes that need an API key; sets `request.caller`. */
  readonly authenticate: onRequestAsyncHookHandler;
}

/** The Fastify instance of the API, whose handlers get their types from schemas. */
export type ApiInstance = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Adds one operation. */
export type ApiRoute = (api: ApiInstance, context: RouteContext) => void;
