/**
 * How long after `npm start` does `/healthz` answer 200?
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';
import { type Answer, atMost } from './support/question.ts';
import { median } from './support/statistics.ts';

const ROUNDS = 7;

/** Answers it. */
export async function startMs(): Promise<readonly Answer[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await startOnce());
  return [atMost('`npm start` -> `/healthz` 200', median(times), 600, 'ms')];
}

async function startOnce(): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  const port = await freePort();
  const settings = { MILLRACE_HTTP_PORT: String(port), MILLRACE_RTMP_PORT: '0', MILLRACE_METRICS_PORT: '0' };
  const startedAt = performance.now();
  const npm = spawn('npm', ['start'], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, ...settings, MILLRACE_DATA_DIR: dataDir },
    stdio: 'ignore',
    // A process group of its own, because npm does not forward every signal to the processes that it started.
    detached: true,
  });
  const exited = once(npm, 'exit');
  try {
    for (;;) {
      const healthy = await fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (healthy) return performance.now() - startedAt;
      if (npm.exitCode !== null) throw new Error(`npm start ended with ${npm.exitCode}`);
      await sleep(2);
    }
  } finally {
    process.kill(-npm.pid!, 'SIGTERM');
    await exited;
    await rm(dataDir, { recursive: true, maxRetries: 20, retryDelay: 50 });
  }
}
