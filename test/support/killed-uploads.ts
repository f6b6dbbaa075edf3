/**
 * Uploads and deletes recordings in a process that is killed again and again.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SECRET_ACCESS_KEY, startObjectServer } from './object-server.ts';
import { WrittenRecording } from './recording-folder.ts';
import type { UploaderJob } from './uploader-child.ts';

/** The number of recordings, and of periods in each. */
const RECORDINGS = 4;
const PERIODS = 4;

/** The state of the bucket at the end. */
export interface KilledUploads {
  /** What is wrong in the bucket, as sentences. */
  readonly faults: readonly string[];
  readonly kills: number;
  /** Files that were uploaded more than once, because after a kill it was unknown whether the bucket had them. */
  readonly repeatedPuts: number;
}

/**
 * Kills a process in the middle of a request, as often as asked, and starts another one on the same folder. Then lets one finish.
 * @param folder of recordings, empty
 */
export async function killUploads(folder: string, kills: number): Promise<KilledUploads> {
  await using server = await startObjectServer();
  const { s3SecretAccessKey: _, ...settings } = server.settings;
  const bucket = { ...settings, secretKey: SECRET_ACCESS_KEY };
  const faults: string[] = [];
  let [killed, puts, files] = [0, 0, 0];
  while (killed < kills) {
    const recordings = Array.from({ length: RECORDINGS }, () => writtenRecording(folder));
    const [unwanted, ...upload] = recordings.map(({ path }) => path as string) as [string, ...string[]];
    // The one that is deleted was uploaded before.
    for (const name of recordings[0]!.names) {
      server.objects.set(`${unwanted}/${name}`, readFileSync(join(recordings[0]!.folder, name)));
    }
    server.requests.length = 0;
    const job = { folder, bucket, upload, free: [unwanted] };
    for (let round = 0; round < 10 && killed < kills; round += 1) {
      if (await runChild(job, server, 3 + ((killed * 7) % 23))) break;
      killed += 1;
    }
    await runChild(job, server, Number.POSITIVE_INFINITY);
    puts += server.requests.filter(({ method }) => method === 'PUT').length;
    const expected = new Map<string, Buffer>();
    for (const { path, folder: own, names } of recordings.slice(1)) {
      for (const name of names) expected.set(`${path}/${name}`, readFileSync(join(own, name)));
    }
    files += expected.size;
    for (const [name, bytes] of expected) {
      const stored = server.objects.get(name);
      if (stored === undefined) faults.push(`${name} is missing`);
      else if (!stored.equals(bytes)) faults.push(`${name} has other bytes`);
    }
    for (const name of server.objects.keys()) if (!expected.has(name)) faults.push(`${name} is an orphan`);
    server.objects.clear();
  }
  return { faults, kills: killed, repeatedPuts: puts - files };
}

/** Runs a process, and kills it in the middle of a request. Returns whether it finished before. */
async function runChild(
  job: UploaderJob,
  server: Awaited<ReturnType<typeof startObjectServer>>,
  killAtRequest: number,
): Promise<boolean> {
  const child = fork(new URL('./uploader-child.ts', import.meta.url), { env: {}, execArgv: [] });
  let isDone = false;
  child.once('message', () => {
    isDone = true;
    child.disconnect();
  });
  let requests = 0;
  server.faultOf = ({ method }) => {
    requests += 1;
    if (requests !== killAtRequest) return undefined;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    // Half of the requests are carried out, although the process that sent them is gone.
    return method === 'PUT' && killAtRequest % 2 === 0 ? { type: 'cut_request' } : { type: 'slow', until: exited };
  };
  const exit = once(child, 'exit');
  child.send(job);
  await exit;
  return isDone;
}

function writtenRecording(folder: string): WrittenRecording {
  const recording = new WrittenRecording(folder);
  for (let period = 0; period < PERIODS; period += 1) recording.period(200_000);
  recording.end();
  return recording;
}
