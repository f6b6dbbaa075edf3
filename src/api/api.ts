/**
 * What the API needs from the rest of the server, and what a route is made with.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  onRequestHookHandler,
  RawServerDefault,
} from 'fastify';
import type { BrowserTokens } from '#domain/browser-session.ts';
import type { ApiKeyId, NodeId } from '#domain/ids.ts';
import type { OwnerTokens } from '#domain/owner-token.ts';
import type { Playable } from '#domain/playable.ts';
import type { Quotas } from '#domain/quotas.ts';
import type { AttemptThrottle } from '#lib/attempt-throttle.ts';
import type { Clock } from '#lib/clock.ts';
import type { DestinationGuard } from '#lib/destination-guard.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { PublishAttempts } from '#live/publish-attempts.ts';
import type { TestPictures } from '#live/test-pictures.ts';
import type { Store } from '#store/store.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { TestPictureTarget } from '#transcode/test-picture.ts';
import type { Resending } from '#webhooks/webhooks.ts';
import type { ApiSettings } from './config.ts';
import type { FindCredential } from './credentials.ts';
import type { RecordedExtents } from './present-asset.ts';

/** What the API shows admins of the server that answers. */
export interface Host {
  readonly nodeId: NodeId;
  readonly version: string;
  readonly dataDir: string;
  /** The settings in force. Secret values are left out. */
  readonly settings: readonly { readonly name: string; readonly value?: string; readonly isSecret: boolean }[];
  /** When the certificate expires, in milliseconds since the Unix epoch. Undefined without TLS. */
  readonly certificateValidTo: () => number | undefined;
  /** Starts the encoder on a test picture, to see whether it works. Undefined where FFmpeg is not installed. */
  readonly draw: ((target: TestPictureTarget) => AsyncDisposable) | undefined;
  /** The milliseconds by which the clock is too far ahead to be believed; see `lib/cautious-clock.ts`. Undefined when it is believed. */
  readonly clockDoubtedMs: () => number | undefined;
  /** The numbers of sessions on this server that have not ended, and of publishers that are connected to it. */
  readonly counts: () => { readonly sessions: number; readonly publishers: number };
}

/** The services that the API uses, provided by `app.ts`. */
export interface ApiOptions {
  readonly settings: ApiSettings;
  /** The quotas of users for whom an admin has set none. */
  readonly quotas: Quotas;
  readonly store: Pick<
    Store,
    | 'apiKeys'
    | 'browserSessions'
    | 'signingKeys'
    | 'users'
    | 'streams'
    | 'sessions'
    | 'samples'
    | 'nodes'
    | 'usage'
    | 'assets'
    | 'audit'
    | 'idempotency'
    | 'events'
    | 'webhooks'
    | 'listen'
  >;
  readonly live: LiveDirectory;
  /** Finds the stream or asset with an id, for a viewer at an address. Limits how many unknown ids an address may ask for. */
  readonly findPlayable: (id: string, address: string) => Promise<Playable | undefined>;
  readonly recordings: RecordedExtents;
  /** Whether viewers may seek back in a stream while it is recorded. */
  readonly isSeekable: boolean;
  readonly attempts: Pick<PublishAttempts, 'recent'>;
  readonly host: Host;
  readonly testPictures: Pick<TestPictures, 'start' | 'stop'>;
  /** The attempt throttle that RTMP uses, too, so that guesses over both are counted together. */
  readonly throttle: AttemptThrottle;
  /** Reads the bearer tokens of browsers that are signed in to the dashboard. */
  readonly tokens: BrowserTokens;
  /** Makes the tokens with which owners watch what is not public. */
  readonly ownerTokens: OwnerTokens;
  readonly clock: Clock;
  /** The origin by which the sender of a request reaches this server, such as `https://live.example.com`. */
  readonly publicUrl: (request: FastifyRequest) => string;
  /**
   * The publish URLs without the stream key, the one to offer first at the beginning, for a client that reached this server by this host
   * name. Called at each request, because ingest may start to listen after the API was made.
   */
  readonly publishUrls: (hostname: string) => readonly string[];
  /** Sends requests to webhooks again. */
  readonly resending: Resending;
  /** Checks the URLs of webhooks. */
  readonly guard: Pick<DestinationGuard, 'problemOf'>;
  readonly metrics: Pick<Metrics, 'eventStreams'>;
  /** Called at every use of a valid API key. */
  readonly onKeyUse?: ((id: ApiKeyId) => void) | undefined;
}

/** What a route is made with. */
export interface RouteContext extends ApiOptions {
  /** Hook of routes that require an API key. It sets `request.caller`. */
  readonly authenticate: onRequestHookHandler;
  /** Finds whom a credential stands for now. Long answers call it again and again, because their credential may become invalid meanwhile. */
  readonly findCredential: FindCredential;
}

/** The Fastify instance of the API. Handlers get their types from the schemas. */
export type ApiInstance = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Registers one operation. */
export type ApiRoute = (api: ApiInstance, context: RouteContext) => void;
