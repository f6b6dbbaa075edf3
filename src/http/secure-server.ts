/**
 * HTTPS: HTTP/2 where the client can, HTTP/1.1 where it cannot, with the limits plain HTTP has, and those only HTTP/2 needs.
 */
import { constants } from 'node:crypto';
import type { Server } from 'node:http';
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Certificate } from '#lib/certificate.ts';
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_MS, MAX_HEADER_BYTES, MAX_STREAMS, REQUEST_TIMEOUT_MS } from './limits.ts';
import { HTTP1_OPTIONS } from './plain-server.ts';

/**
 * Megabytes one HTTP/2 connection may keep in this process, headers and answers not yet sent together; more streams are
 * refused above it. Every stream may have 64 KiB of an answer on its way (`origin/answer.ts`).
 */
const MAX_SESSION_MB = 20;
/**
 * Requests a client may take back at once, and per second from then on; beyond that the connection is closed (rapid reset,
 * CVE-2023-44487). A player that seeks takes back a handful.
 */
const RESET_BURST = 500;
const RESETS_PER_S = 50;
/**
 * Frames that are not allowed, and empty ones that carry nothing, before the connection is closed. Each request among them has to be taken
 * down again, so that a thousand, which is Node's limit, take tens of milliseconds.
 */
const MAX_INVALID_FRAMES = 100;
/** RFC 9113 §7: the client does not want the answer any more; said to one who sends too slowly. */
const CANCEL = 8;

/**
 * Makes the server that shows a certificate, and the renewed one from the moment it is renewed; connections there are stay.
 * Node gives requests of HTTP/2 and their answers the face of HTTP/1.1: routes need not know which they serve, but for what
 * `http.ts` and `origin/answer.ts` say.
 */
export function secureServer(certificate: CertificateWatch): Server {
  const server = createSecureServer({
    ...tlsOptions(certificate.current),
    handshakeTimeout: HEADERS_TIMEOUT_MS,
    allowHTTP1: true,
    http1Options: HTTP1_OPTIONS,
    settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES, enablePush: false },
    maxSessionMemory: MAX_SESSION_MB,
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    streamResetBurst: RESET_BURST,
    streamResetRate: RESETS_PER_S,
  });
  server.on('session', closeWhenIdle);
  server.on('stream', limitBody);
  certificate.observe({
    renewed: (renewed) => server.setSecureContext(tlsOptions(renewed)),
    refused: () => {},
  });
  return server as unknown as Server;
}

/** TLS options that forbid renegotiation, with which a client could make this server compute keys again and again. */
const tlsOptions = ({ options }: Certificate) => ({ ...options, secureOptions: constants.SSL_OP_NO_RENEGOTIATION });

/** A request's body has as long as over HTTP/1.1. */
function limitBody(stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders) return;
  const overdue = setTimeout(() => stream.close(CANCEL), REQUEST_TIMEOUT_MS).unref();
  for (const event of ['end', 'close']) stream.once(event, () => clearTimeout(overdue));
}

/**
 * Holds a connection to the time limits Node keeps for HTTP/1.1 only: its first request has as long as headers have there, and
 * without any under way it stays as long as there. Requests alone count as life; pings, settings and headers that never end
 * keep nothing open.
 */
function closeWhenIdle(session: ServerHttp2Session): void {
  let streams = 0;
  const close = () => {
    session.close();
    // Says goodbye first; whoever does not take even that is cut off.
    idle = setTimeout(() => session.destroy(), HEADERS_TIMEOUT_MS).unref();
  };
  let idle = setTimeout(close, HEADERS_TIMEOUT_MS).unref();
  session.on('stream', (stream: ServerHttp2Stream) => {
    streams += 1;
    clearTimeout(idle);
    stream.once('close', () => {
      streams -= 1;
      // A connection that is lost ends before its streams.
      if (streams === 0 && !session.closed && !session.destroyed) idle = setTimeout(close, KEEP_ALIVE_MS).unref();
    });
  });
  session.once('close', () => clearTimeout(idle));
}
