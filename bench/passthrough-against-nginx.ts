/**
 * How much CPU does a passed-through stream of 3 Mbit/s cost the server, against nginx-rtmp that writes HLS of the same streams at the same
 * time? And how much while the server's code is being compiled?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess } from '../test/support/server.ts';
import { startNginxRtmp } from './peers/nginx-rtmp.ts';
import { createStreams, publishTo } from './support/load.ts';
import { cpuMs } from './support/process-usage.ts';
import { type Answer, atMost, atMostTimes } from './support/question.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
const COUNTS = [10, 30, 50];
const FIRST_S = 60;
const SECONDS = 30;
/** The number of streams whose first minute is reported. */
const FRESH = 30;

/** Answers both questions. */
export async function passthroughAgainstNginx(): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const count of COUNTS) {
    const { first, ours, theirs } = await sideBySide(count);
    if (count === FRESH)
      answers.push(
        atMost(`server CPU per stream in the first minute of a fresh server, ${count} streams`, first, 0.5, '%'),
      );
    const question = `server CPU per passed-through 3 Mbit/s stream, ${count} streams, side by side`;
    answers.push(atMostTimes(question, ours, { name: 'nginx-rtmp with HLS', value: theirs }, { times: 1, unit: '%' }));
  }
  return answers;
}

/** Returns the CPU of each stream, in percent of a core. */
async function sideBySide(count: number) {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  await using nginx = await startNginxRtmp();
  const streams = await createStreams(server.api, count);
  const percent = (pid: number, sinceMs: number, seconds: number) =>
    ((cpuMs(pid) - sinceMs) / (seconds * 1000) / count) * 100;
  const fresh = cpuMs(server.pid);
  await using _ours = await publishTo(server.rtmpPort, streams, SHAPE);
  await using _theirs = await publishTo(nginx.port, streams, SHAPE);
  await sleep(FIRST_S * 1000);
  const first = percent(server.pid, fresh, FIRST_S);
  const before = [cpuMs(server.pid), cpuMs(nginx.pid)] as const;
  await sleep(SECONDS * 1000);
  return { first, ours: percent(server.pid, before[0], SECONDS), theirs: percent(nginx.pid, before[1], SECONDS) };
}
