/**
 * The HTTP server that the API, playback and the pages share: its limits, request ids, errors and shutdown.
 */
import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { networkOf } from '#lib/network-of.ts';
import { connectionOf } from '#lib/request-connection.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { answerClientError } from './client-error.ts';
import type { HttpSettings } from './config.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { drainOnClose } from './drain.ts';
import { BODY_LIMIT_BYTES, type ErrorPage, sendError, toMillraceError } from './error-reply.ts';
import { FailureLog } from './failure-log.ts';
import { Flooders } from './flooders.ts';
import { readForwardedFor } from './forwarded-for.ts';
import { hostProblem } from './host-header.ts';
import { acceptOnlyJson, settleBodyType } from './json-body.ts';
import { KnownPaths } from './known-paths.ts';
import { plainServer } from './plain-server.ts';
import { requestIds } from './request-id.ts';
import { inTurns } from './request-turns.ts';
import { RequestValidators } from './request-validators.ts';
import { secureServer } from './secure-server.ts';
import { serveRequests } from './serve-requests.ts';
import { closeFloodingSessions } from './session-floods.ts';
import { observeRequests } from './telemetry.ts';
import { limitHandshakes } from './tls-handshakes.ts';
import { trustedProxies } from './trusted-proxies.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Notes that a request came from another node. From now on, its connection has a place and turns of its own, because it carries the
     * requests of many viewers. The TLS handshakes of its host do not wait any more.
     */
    trustNode(request: Pick<FastifyRequest, 'raw' | 'socket'>): void;
  }
}

/** What {@link createHttp} needs. */
export interface HttpOptions {
  readonly settings: Pick<HttpSettings, 'maxConnections' | 'trustedProxies' | 'publicUrl'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** With a certificate the server speaks HTTPS only, as HTTP/2 and HTTP/1.1. */
  readonly certificate?: CertificateWatch | undefined;
  readonly clock?: Clock;
  /** Makes the error pages for browsers. Without it, every error is JSON. */
  readonly errorPage?: ErrorPage;
}

/**
 * Headers of the errors that no route answers: those for unknown paths and methods, for paths that cannot be parsed, and while the server
 * stops. They let the scripts of any web page read such errors, like those of the API and of playback. The errors contain no secret.
 */
const READABLE = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'allow, retry-after, x-request-id',
};

/** The most characters of a path parameter. Ids have at most 36. */
const MAX_PARAM_LENGTH = 100;

/**
 * Makes a server that listens once `listen` is called and closes within about two seconds.
 *
 * Every answer carries `x-request-id` and the headers of {@link secureHeaders}. A route that serves something other than JSON overrides
 * those that do not fit. Every error has one form (see `error-reply.ts`). `GET /healthz` answers as long as the process runs. It does not
 * query the store: viewers of live streams need none, and a restart would only disconnect them.
 */
export function createHttp({
  settings,
  logger,
  metrics,
  certificate,
  clock = systemClock,
  errorPage,
}: HttpOptions): FastifyInstance {
  const nextRequestId = requestIds();
  const nextId = () => nextRequestId({ headers: {} });
  const isTrustedProxy = trustedProxies(settings.trustedProxies);
  const flooders = new Flooders({ clock, isTrustedProxy, logger });
  const validators = new RequestValidators();
  /** The connections of other nodes. */
  const nodes = new WeakSet();
  /** The hosts from which requests of other nodes came. */
  const nodeHosts = new Set<string>();
  const slots = new ConnectionSlots({ limit: settings.maxConnections, flooders, isTrustedProxy, logger });
  const http = fastify({
    logger: false,
    genReqId: nextRequestId,
    bodyLimit: BODY_LIMIT_BYTES,
    return503OnClosing: false, // answered below, in the form of every other error
    trustProxy: settings.trustedProxies.length > 0 && isTrustedProxy,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH },
    serverFactory: (handler) => {
      const server = certificate === undefined ? plainServer() : secureServer(certificate);
      if (certificate !== undefined) {
        const isExempt = (address: string) => isTrustedProxy(address) || nodeHosts.has(networkOf(address));
        limitHandshakes(server, { clock, isExempt });
        closeFloodingSessions(server, { clock, flooders, isTrustedProxy });
      }
      slots.guard(server);
      serveRequests(server, inTurns(handler, { clock, flooders, isTrustedProxy, nodes }), nextId);
      return server;
    },
    // Answers are serialized as the handlers made them: a serializer compiled from the schema would put a profile's keys into
    // the schema's order, and they must come back in the order they were sent.
    schemaController: {
      compilersFactory: { buildValidator: validators.build, buildSerializer: () => () => JSON.stringify },
    },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        verbose: true,
        allowUnionTypes: true,
        // Checking our schemas would compile the meta-schema, which takes longer than any of them. The linters of the OpenAPI document check
        // them in the tests.
        validateSchema: false,
        // A schema that others refer to is compiled once, in a turn of its own.
        inlineRefs: false,
      },
    },
    clientErrorHandler: answerClientError(nextId),
    frameworkErrors: (error, request, reply) => {
      reply.headers(headers).headers(READABLE).header('x-request-id', request.id);
      void sendError(reply, toMillraceError(error), request.id);
    },
  });
  http.decorate('trustNode', ({ raw, socket }) => {
    const connection = connectionOf(raw);
    if (nodes.has(connection)) return;
    nodes.add(connection);
    nodeHosts.add(networkOf(socket.remoteAddress ?? ''));
    slots.trust(socket);
  });
  const headers = secureHeaders(settings.publicUrl ?? (certificate && 'https:'));
  const paths = new KnownPaths();
  http.addHook('onRoute', ({ url, method }) => paths.add(url, method));
  validators.addTo(http);
  const drain = drainOnClose(http, clock);
  const failures = new FailureLog(logger);
  http.addHook('onClose', (_instance, done) => {
    flooders[Symbol.dispose]();
    done();
  });

  acceptOnlyJson(http);

  /** The error with which a request is refused before any route. Undefined when a route may answer it. */
  const refusalOf = (request: FastifyRequest, reply: FastifyReply): MillraceError | undefined => {
    if (drain.isClosing() && isPreflight(request)) {
      drain.expectRequest();
      reply.raw.removeHeader('connection'); // fastify has set it to `close`
    } else if (drain.isClosing()) {
      closeAfter(reply);
      return new MillraceError('shutting_down', 'The server is shutting down; try again.', { retryAfterS: 5 });
    }
    const problem = hostProblem(request.raw);
    if (problem !== undefined) {
      closeAfter(reply);
      return new MillraceError('invalid_request', problem);
    }
    return request.is404 ? notFound(request, reply, paths.methodsOf(request.raw.url ?? '')) : undefined;
  };
  // Runs before anything reads the body, or the address of the client.
  http.addHook('onRequest', (request, reply, done) => {
    readForwardedFor(request.raw, isTrustedProxy);
    settleBodyType(request.raw);
    reply.headers(headers).header('x-request-id', request.id);
    const error = refusalOf(request, reply);
    if (error !== undefined) reply.headers(READABLE);
    done(error);
  });
  observeRequests(http, metrics);

  http.setErrorHandler((thrown, request, reply) => {
    const error = toMillraceError(thrown);
    failures.failed({ requestId: request.id, route: request.routeOptions.url }, error);
    if (bodyIsLarge(request.headers)) closeAfter(reply);
    return sendError(reply, error, request.id, errorPage?.(request, error));
  });

  http.get('/healthz', () => ({ ok: true }));
  return http;
}

/**
 * Listens at the address in the settings.
 * @returns the address, with the assigned port where the settings have port 0
 * @throws {Error} a system error, such as `EADDRINUSE`
 */
export async function listenHttp(
  http: FastifyInstance,
  settings: Pick<HttpSettings, 'host' | 'port'>,
): Promise<{ readonly host: string; readonly port: number }> {
  await http.listen({ host: settings.host, port: settings.port });
  const { port } = http.server.address() as AddressInfo;
  return { host: settings.host, port };
}

/**
 * Whether a browser asks if a page of another origin may send a request (https://fetch.spec.whatwg.org/#cors-preflight-request). The page
 * can read the answer to its request only if this preflight succeeds, so preflights are answered while the server stops, too.
 */
function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** The error for a path that does not exist, or that takes other methods. */
function notFound({ method }: FastifyRequest, reply: FastifyReply, methods: readonly string[]): MillraceError {
  if (methods.length === 0) return new MillraceError('not_found', 'There is nothing at this path; check the address.');
  void reply.header('allow', methods.join(', '));
  return new MillraceError('method_not_allowed', `This path does not take ${method}; it takes ${methods.join(', ')}.`);
}

/** Closes an HTTP/1.1 connection after this answer. HTTP/2 has no such header: Node sends GOAWAY instead. */
function closeAfter(reply: FastifyReply): void {
  if (reply.request.raw.httpVersionMajor === 1) reply.header('connection', 'close');
}

/**
 * Default headers of every answer. Browsers must not guess its type, render it as a page, frame it, or send its address to other sites.
 */
function secureHeaders(publicUrl: string | undefined): Readonly<Record<string, string>> {
  return {
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    ...(publicUrl?.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
  };
}

/** Whether a refused request has a body that is too large, or of unknown length, to be read only to keep the connection. */
function bodyIsLarge(headers: { 'content-length'?: string | undefined; 'transfer-encoding'?: string | undefined }) {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > BODY_LIMIT_BYTES;
}
