/**
 * Times a start of the service as a person starts it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';

/**
 * Runs a command that starts the service with an empty data folder, until `/healthz` answers 200.
 * @param command `npm start`, or something around it
 * @returns milliseconds from the command to the answer
 */
export async function timeStart(command: string, ...args: readonly string[]): Promise<number> {
  await using dataDir = await temporaryFolder();
  const port = await freePort();
  const settings = { MILLRACE_HTTP_PORT: String(port), MILLRACE_RTMP_PORT: '0', MILLRACE_METRICS_PORT: '0' };
  const startedAt = performance.now();
  const child = spawn(command, args, {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, ...settings, MILLRACE_DATA_DIR: dataDir.path },
    stdio: 'ignore',
    // A process group of its own, because npm does not forward every signal to the processes that it started.
    detached: true,
  });
  const exited = once(child, 'exit');
  try {
    for (;;) {
      const healthy = await fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (healthy) return performance.now() - startedAt;
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
      await sleep(2);
    }
  } finally {
    process.kill(-child.pid!, 'SIGTERM');
    await exited;
  }
}
