/**
 * The HTTPS server: HTTP/2, or HTTP/1.1 for clients without it, with the limits of plain HTTP and those that only HTTP/2 needs.
 */
import { constants } from 'node:crypto';
import type { Server } from 'node:http';
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Certificate } from '#lib/certificate.ts';
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_MS, MAX_HEADER_BYTES, MAX_STREAMS, REQUEST_TIMEOUT_MS } from './limits.ts';
import { HTTP1_OPTIONS } from './plain-server.ts';

/**
 * The most memory for one HTTP/2 connection in megabytes, headers and unsent answers together. Above it, new streams are refused. Each
 * stream may have 64 KiB of an answer in flight (`origin/answer.ts`).
 */
const MAX_SESSION_MB = 20;
/**
 * Requests that a client may cancel at once, and per second after that. With more, the connection is closed (rapid reset,
 * CVE-2023-44487). A player that seeks cancels a handful.
 */
const RESET_BURST = 500;
const RESETS_PER_S = 50;
/**
 * Invalid and empty frames, after which the connection is closed. Each request among them has to be destroyed, so a thousand, which is
 * Node's default, would take tens of milliseconds.
 */
const MAX_INVALID_FRAMES = 100;
/** The error code CANCEL (RFC 9113 §7), with which the stream of a client that sends too slowly is closed. */
const CANCEL = 8;

/**
 * Makes a server that presents a certificate, and a renewed one as soon as it is renewed. Open connections stay.
 * Node gives HTTP/2 requests and answers the interface of HTTP/1.1, so routes need not distinguish them, except where `http.ts` and
 * `origin/answer.ts` do.
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

/** Closes a stream whose body takes longer than a request may take over HTTP/1.1. */
function limitBody(stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders) return;
  const overdue = setTimeout(() => stream.close(CANCEL), REQUEST_TIMEOUT_MS).unref();
  for (const event of ['end', 'close']) stream.once(event, () => clearTimeout(overdue));
}

/**
 * Applies the timeouts that Node has for HTTP/1.1 only: the first request must arrive within the timeout of headers, and a connection
 * without requests in flight is closed after the keep-alive timeout. Only requests count as activity. Pings, settings and headers that
 * never end do not keep a connection open.
 */
function closeWhenIdle(session: ServerHttp2Session): void {
  let streams = 0;
  const close = () => {
    session.close();
    // `close` sends GOAWAY first. A client that does not read even that is disconnected.
    idle = setTimeout(() => session.destroy(), HEADERS_TIMEOUT_MS).unref();
  };
  let idle = setTimeout(close, HEADERS_TIMEOUT_MS).unref();
  session.on('stream', (stream: ServerHttp2Stream) => {
    streams += 1;
    clearTimeout(idle);
    stream.once('close', () => {
      streams -= 1;
      // A lost connection closes before its streams do.
      if (streams === 0 && !session.closed && !session.destroyed) idle = setTimeout(close, KEEP_ALIVE_MS).unref();
    });
  });
  session.once('close', () => clearTimeout(idle));
}
