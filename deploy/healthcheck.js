/**
 * The health check of the container: exits with 0 when the server beside it answers, and otherwise with 1 and the reason. Plain
 * JavaScript without imports of the server, because it runs twice a minute: it takes a fifth of the CPU that a `millrace` command takes.
 */
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

/** A server that takes longer counts as one that does not answer. */
const TIMEOUT_MS = 4000;

const { MILLRACE_HTTP_HOST = '0.0.0.0', MILLRACE_HTTP_PORT = '8080', MILLRACE_TLS_CERT } = process.env;
const hostname = { '0.0.0.0': '127.0.0.1', '::': '::1' }[MILLRACE_HTTP_HOST] ?? MILLRACE_HTTP_HOST;
const get = MILLRACE_TLS_CERT === undefined ? getHttp : getHttps;

const signal = AbortSignal.timeout(TIMEOUT_MS);
// The certificate is for the public name. Whether it is valid is for clients to judge.
const options = { hostname, port: MILLRACE_HTTP_PORT, path: '/healthz', signal, rejectUnauthorized: false };
get(options, (response) => {
  response.resume();
  if (response.statusCode !== 200) fail(`Millrace answers with status ${response.statusCode}.`);
}).on('error', (error) => {
  fail(
    signal.aborted
      ? `Millrace does not answer within ${TIMEOUT_MS / 1000} s.`
      : `Millrace does not answer: ${error.message}.`,
  );
});

function fail(sentence) {
  console.error(sentence);
  process.exitCode = 1;
}
