/**
 * Debian's nginx as anybody would put it in front: a caching reverse proxy, in the foreground, on a port of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const EXECUTABLE = '/usr/sbin/nginx';

/** Test options that skip, with the reason, where there is no nginx; under `CI` the test runs and fails instead. */
export const NEEDS_NGINX = needs(EXECUTABLE);

/** A running nginx; disposing it ends it. */
export interface CachingProxy extends AsyncDisposable {
  /** `http://127.0.0.1:port`. Each answer says in `x-cache` where it came from: `MISS`, `HIT`, ... */
  readonly url: string;
}

/** @param upstream host and port of what it stands before */
export async function startNginx(upstream: string): Promise<CachingProxy> {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'millrace-nginx-'));
  parts.defer(() => rm(folder, { recursive: true }));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configuration({ folder, port, upstream }));
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
  const url = `http://127.0.0.1:${port}`;
  const answers = () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${errors}`);
    return fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await waitFor(answers, { what: 'nginx to answer' });
  const running = parts.move();
  return { url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** What its documentation shows for a caching proxy; the rest only keeps it in one process and one folder. */
function configuration({ folder, port, upstream }: { folder: string; port: number; upstream: string }): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `
    daemon off; master_process off; pid ${folder}/pid;
    events {}
    http {
      ${temporary.join('\n      ')}
      access_log off;
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
          proxy_cache_use_stale off;
          add_header X-Cache $upstream_cache_status always;
        }
      }
    }`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
