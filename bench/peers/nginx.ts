/**
 * Peer: the system's nginx, serving a folder with one process.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { waitFor } from '../../test/support/wait-for.ts';

/** A running nginx. */
export interface Nginx extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

/** Whether nginx is installed. */
export const hasNginx = (): boolean => spawnSync('nginx', ['-v'], { stdio: 'ignore' }).error === undefined;

/** Starts nginx with files in its folder, with `sendfile` and without an access log, as is usual for video. */
export async function startNginx(files: Readonly<Record<string, Uint8Array>>): Promise<Nginx> {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await temporaryFolder()).path;
  const port = await freePort();
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder};`);
  const configuration = `
    daemon off; master_process off; pid ${folder}/pid; error_log stderr error;
    events { worker_connections 1024; }
    http {
      ${temporary.join(' ')}
      access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
      server { listen 127.0.0.1:${port}; root ${folder}; }
    }`;
  // The user of nginx must be able to read the folder. Without a master process, that is the user who starts it.
  const pid = await runNginx(parts, folder, configuration);
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/${Object.keys(files)[0]}`)
      .then(() => true)
      .catch(() => false);
  await waitFor(answers, { what: 'nginx to listen' });
  const running = parts.move();
  return { pid, port, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Runs nginx with a configuration and in a folder, until the parts are disposed. @returns its process id */
export async function runNginx(parts: AsyncDisposableStack, folder: string, configuration: string): Promise<number> {
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configuration);
  const child = spawn('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  parts.defer(async () => {
    child.kill();
    await exited;
  });
  return child.pid!;
}
