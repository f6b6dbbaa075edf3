/**
 * The HTTP server every face is mounted on: its limits, request ids, errors and its close.
 */
import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { answerClientError } from './client-error.ts';
import type { HttpSettings } from './config.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { drainOnClose } from './drain.ts';
import { BODY_LIMIT_BYTES, sendError, toMillraceError } from './error-reply.ts';
import { FailureLog } from './failure-log.ts';
import { Flooders } from './flooders.ts';
import { hostProblem } from './host-header.ts';
import { acceptOnlyJson } from './json-body.ts';
import { plainServer } from './plain-server.ts';
import { requestIds } from './request-id.ts';
import { inTurns } from './request-turns.ts';
import { secureServer } from './secure-server.ts';
import { serveRequests } from './serve-requests.ts';
import { cutSessionFloods } from './session-floods.ts';
import { observeRequests } from './telemetry.ts';
import { limitHandshakes } from './tls-handshakes.ts';
import { trustedProxies } from './trusted-proxies.ts';

/** What {@link createHttp} needs. */
export interface HttpOptions {
  readonly settings: Pick<HttpSettings, 'maxConnections' | 'trustedProxies' | 'publicUrl'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** With it the server speaks HTTPS only, as HTTP/2 and HTTP/1.1. */
  readonly certificate?: CertificateWatch | undefined;
  readonly clock?: Clock;
}

/** Every id is at most 36 characters. */
const MAX_PARAM_LENGTH = 100;

/**
 * A server that listens once `listen` is called and closes within about two seconds.
 *
 * Every answer carries `x-request-id` and the headers of {@link secureHeaders}; a route that serves something else than
 * JSON overrides those it must. Every error has one shape (see `error-reply.ts`). `GET /healthz` says that the process
 * answers; it does not ask the store, since live viewers need none and a restart would only cut them off.
 */
export function createHttp({
  settings,
  logger,
  metrics,
  certificate,
  clock = systemClock,
}: HttpOptions): FastifyInstance {
  const nextRequestId = requestIds();
  const nextId = () => nextRequestId({ headers: {} });
  const isTrustedProxy = trustedProxies(settings.trustedProxies);
  const flooders = new Flooders({ clock, isTrustedProxy, logger });
  const slots = new ConnectionSlots({ limit: settings.maxConnections, flooders, isTrustedProxy, logger });
  const http = fastify({
    logger: false,
    genReqId: nextRequestId,
    bodyLimit: BODY_LIMIT_BYTES,
    return503OnClosing: false, // answered below, in our own shape
    trustProxy: settings.trustedProxies.length > 0 && isTrustedProxy,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH },
    serverFactory: (handler) => {
      const server = certificate === undefined ? plainServer() : secureServer(certificate);
      if (certificate !== undefined) {
        limitHandshakes(server, { clock, isTrustedProxy });
        cutSessionFloods(server, { clock, flooders, isTrustedProxy });
      }
      slots.guard(server);
      serveRequests(server, inTurns(handler, { flooders, isTrustedProxy }), nextId);
      return server;
    },
    // Answers are written as the handlers made them: a serializer compiled from the schema would put a profile's keys into
    // the schema's order, and they must come back in the order they were sent.
    schemaController: { compilersFactory: { buildSerializer: () => () => JSON.stringify } },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        verbose: true,
        allowUnionTypes: true,
      },
    },
    clientErrorHandler: answerClientError(nextId),
    frameworkErrors: (error, request, reply) => {
      reply.headers(headers).header('x-request-id', request.id);
      void sendError(reply, toMillraceError(error), request.id);
    },
  });
  const headers = secureHeaders(settings.publicUrl ?? (certificate && 'https:'));
  const isClosing = drainOnClose(http);
  const failures = new FailureLog(logger);
  http.addHook('onClose', (_instance, done) => {
    flooders[Symbol.dispose]();
    done();
  });

  acceptOnlyJson(http);

  // Before anything reads the body.
  http.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id);
    if (isClosing()) {
      closeAfter(reply);
      done(new MillraceError('shutting_down', 'The server is shutting down; try again.', { retryAfterS: 5 }));
      return;
    }
    const problem = hostProblem(request.raw);
    if (problem !== undefined) {
      closeAfter(reply);
      done(new MillraceError('invalid_request', problem));
    } else if (request.is404) {
      done(new MillraceError('not_found', 'There is nothing under this method and path; check both.'));
    } else {
      done();
    }
  });
  observeRequests(http, metrics);

  http.setErrorHandler((thrown, request, reply) => {
    const error = toMillraceError(thrown);
    failures.failed({ requestId: request.id, route: request.routeOptions.url }, error);
    if (bodyIsLarge(request.headers)) closeAfter(reply);
    return sendError(reply, error, request.id);
  });

  http.get('/healthz', () => ({ ok: true }));
  return http;
}

/**
 * Listens where the settings say.
 * @returns the address, with the real port also when port 0 was asked for
 * @throws {Error} of the system, such as `EADDRINUSE`
 */
export async function listenHttp(
  http: FastifyInstance,
  settings: Pick<HttpSettings, 'host' | 'port'>,
): Promise<{ readonly host: string; readonly port: number }> {
  await http.listen({ host: settings.host, port: settings.port });
  const { port } = http.server.address() as AddressInfo;
  return { host: settings.host, port };
}

/** Ends an HTTP/1.1 connection with this answer. HTTP/2 knows no such header: it ends streams, and says GOAWAY. */
function closeAfter(reply: FastifyReply): void {
  if (reply.request.raw.httpVersionMajor === 1) reply.header('connection', 'close');
}

/**
 * Headers every answer starts with. They forbid browsers to guess types, to render an answer as a page, to frame it, and to tell
 * other sites the address.
 */
function secureHeaders(publicUrl: string | undefined): Readonly<Record<string, string>> {
  return {
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    ...(publicUrl?.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
  };
}

/** Refused with its body unread, a large request must not be read to its end only to keep the connection. */
function bodyIsLarge(headers: { 'content-length'?: string | undefined; 'transfer-encoding'?: string | undefined }) {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > BODY_LIMIT_BYTES;
}
