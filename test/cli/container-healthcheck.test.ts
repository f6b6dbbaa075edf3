import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { waitFor } from '../support/wait-for.ts';
import { dataFolder, run, serve, storeFolder } from './millrace.ts';

const HEALTHCHECK = join(import.meta.dirname, '../../deploy/healthcheck.js');

const check = (settings: Record<string, string>) => run([], { launcher: HEALTHCHECK, settings });
/** The result of the health check of a healthy server. A server that answers after 4 s, because the machine was busy, is checked again. */
const healthy = (settings: Record<string, string>) =>
  waitFor(
    async () => {
      const result = await check(settings);
      return result.code === 0 && result;
    },
    { what: 'a healthy server' },
  );
const portOf = (url: string): string => new URL(url).port;

test('the health check succeeds while the server answers, and prints the reason after it has stopped', async (t) => {
  const { http, child, finished } = await serve(t, { settings: { DATA_DIR: await storeFolder(t) } });
  const settings = { HTTP_PORT: portOf(http) };
  assert.deepEqual(await healthy(settings), { code: 0, signal: null, stdout: '', stderr: '' });
  child.kill('SIGTERM');
  await finished;
  const { code, stderr } = await check(settings);
  assert.equal(code, 1);
  assert.match(stderr, /^Millrace does not answer: .*ECONNREFUSED.*\.\n$/);
});

test('the health check reaches a TLS server with a certificate for another name', async (t) => {
  const files = await writeCertificate(await dataFolder(t), makeCertificate());
  const tls = { TLS_CERT: files.MILLRACE_TLS_CERT, TLS_KEY: files.MILLRACE_TLS_KEY };
  const { http } = await serve(t, { settings: { ...tls, RTMPS_PORT: '0', DATA_DIR: await storeFolder(t) } });
  const { stderr } = await healthy({ ...tls, HTTP_PORT: portOf(http) });
  assert.equal(stderr, '');
});

test('the health check fails when the answer is not healthy', async (t) => {
  const other = createServer((_, response) => response.writeHead(503).end()).listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const { code, stderr } = await check({ HTTP_PORT: `${(other.address() as AddressInfo).port}` });
  assert.equal(code, 1);
  assert.match(stderr, /^Millrace answers with status 503\.\n$/);
});
