/**
 * Debian's nginx as a caching reverse proxy in front of a server. It runs in the foreground, on a port of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const EXECUTABLE = '/usr/sbin/nginx';

/** Options that skip a test, with the reason, where nginx is not installed. Under `CI` the test runs and fails instead. */
export const NEEDS_NGINX = needs(EXECUTABLE);

/** A running nginx. Disposing it ends the process. */
export interface CachingProxy extends AsyncDisposable {
  /** `http://127.0.0.1:port`. The header `x-cache` of each answer says how the cache was used: `MISS`, `HIT`, ... */
  readonly url: string;
  /** The access log so far. As on Debian, it also has the requests for which the configuration names no other log. */
  accessLog(): Promise<string>;
  /** The folder with the files of this nginx. */
  readonly folder: string;
}

/** nginx with the configuration of `deploy/nginx.conf`. */
export interface DeployedProxy extends CachingProxy {
  /** `http://127.0.0.1:port`, in place of port 80. */
  readonly plainUrl: string;
}

/** @param upstream host and port of the server that nginx forwards to */
export function startNginx(upstream: string): Promise<CachingProxy> {
  return run('http', ({ folder, port }) => cachingSite({ folder, port, upstream }));
}

/**
 * Starts nginx with the configuration of `deploy/nginx.conf`, with other paths and addresses.
 * @param upstreams host and port of each server that nginx forwards to
 * @param certificate the PEM files of the certificate that nginx presents
 */
export async function startDeployedNginx(
  upstreams: readonly string[],
  certificate: { readonly certFile: string; readonly keyFile: string },
): Promise<DeployedProxy> {
  const example = await readFile(join(import.meta.dirname, '../../deploy/nginx.conf'), 'utf8');
  const plainPort = await freePort();
  const [line, options] = /server 127\.0\.0\.1:8080 (.*)/.exec(example) ?? [];
  if (line === undefined) throw new Error('deploy/nginx.conf has no server 127.0.0.1:8080');
  const proxy = await run('https', ({ folder, port }) =>
    replacedAll(example, [
      [line, upstreams.map((upstream) => `server ${upstream} ${options}`).join('\n')],
      ['/var/cache/', `${folder}/`], // the only part of the path that every system has
      ['/var/log/nginx/millrace.log', `${folder}/access.log`],
      ['root /var/www/html;', `root ${folder}/html;`],
      ['listen 80;', `listen 127.0.0.1:${plainPort};`],
      ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
      ['/etc/letsencrypt/live/live.example.com/fullchain.pem', certificate.certFile],
      ['/etc/letsencrypt/live/live.example.com/privkey.pem', certificate.keyFile],
      ['proxy_ignore_headers Vary;', 'proxy_ignore_headers Vary; add_header X-Cache $upstream_cache_status always;'],
      ['proxy_set_header Host $host;', 'proxy_set_header Host $http_host;'], // ports are not 443 here
      ['X-Forwarded-Host $host;', 'X-Forwarded-Host $http_host;'],
    ]),
  );
  return { ...proxy, plainUrl: `http://127.0.0.1:${plainPort}` };
}

/**
 * Starts nginx with the configuration of `deploy/compose-nginx.conf`, with other paths and addresses.
 * @param upstream host and port of the server that nginx forwards to
 * @param proxy the address of a proxy in front, for which the commented-out lines of the file are used
 */
export async function startComposeNginx(upstream: string, proxy?: string): Promise<CachingProxy> {
  const example = await readFile(join(import.meta.dirname, '../../deploy/compose-nginx.conf'), 'utf8');
  return await run('http', ({ folder, port }) =>
    replacedAll(example, [
      ['server 172.30.77.2:8080;', `server ${upstream};`],
      ['/var/cache/nginx/millrace', `${folder}/cache`],
      ['/dev/stdout', `${folder}/access.log`],
      ['listen 80;', `listen 127.0.0.1:${port};`],
      ['#set_real_ip_from 172.30.77.0/24;', proxy === undefined ? '' : `set_real_ip_from ${proxy};`],
      ['#real_ip_', proxy === undefined ? '#real_ip_' : 'real_ip_'],
    ]),
  );
}

/** Replaces texts of an example configuration by those of the test. @throws {Error} when the example lacks one of them */
function replacedAll(example: string, places: readonly (readonly [example: string, here: string])[]): string {
  return places.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the example has no ${from}`);
    return text.replaceAll(from, to);
  }, example);
}

/** @param site the content of `http {}`, except for the settings that keep nginx in one process and one folder */
async function run(
  scheme: 'http' | 'https',
  site: (place: { readonly folder: string; readonly port: number }) => string,
): Promise<CachingProxy> {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'millrace-nginx-'));
  parts.defer(() => rm(folder, { recursive: true }));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configuration(folder, site({ folder, port })));
  const child = spawn(EXECUTABLE, ['-p', folder, '-c', file, '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exited = once(child, 'exit');
  parts.defer(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const url = `${scheme}://127.0.0.1:${port}`;
  const answers = () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${errors}`);
    return fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await waitFor(answers, { what: 'nginx to answer' });
  const running = parts.move();
  const accessLog = () => readFile(join(folder, 'access.log'), 'utf8').catch(() => '');
  return { url, folder, accessLog, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function configuration(folder: string, site: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `
    daemon off; master_process off; pid ${folder}/pid;
    events {}
    http {
      ${temporary.join('\n      ')}
      access_log ${folder}/access.log;
      ${site}
    }`;
}

/** The configuration that nginx's documentation shows for a caching proxy, with patience for a server on a busy machine. */
function cachingSite({ folder, port, upstream }: { folder: string; port: number; upstream: string }): string {
  return `
      proxy_cache_path ${folder}/cache keys_zone=cache:1m;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://${upstream};
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_set_header Host $http_host;
          proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          proxy_set_header X-Forwarded-Proto $scheme;
          proxy_cache cache;
          proxy_cache_lock on;
          proxy_cache_lock_timeout 60s;
          proxy_cache_lock_age 60s;
          proxy_cache_use_stale off;
          add_header X-Cache $upstream_cache_status always;
        }
      }`;
}
