/**
 * Media that the encoder of the test publisher makes once, as fast as the machine can, for tests that send it themselves. It is kept until the
 * encoder changes, because encoding it costs more CPU time than most tests that send it.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type FlvFileTag, readFlvTags } from './flv-file.ts';
import { forkPublisher, jobOf, type PublisherOptions } from './publisher.ts';
import type { PublisherCommand, PublisherEvent, PublisherJob, PublisherReport } from './publisher-protocol.ts';

/** The encoding process, and the callers that wait for its answers, oldest first. */
interface Recorder {
  readonly child: ChildProcess;
  readonly waiting: PromiseWithResolvers<PublisherReport>[];
  idle?: NodeJS.Timeout;
}

/** A process is kept until it has been idle for this long, because starting one costs more CPU time than encoding a few seconds. */
const IDLE_MS = 10_000;
let running: Recorder | undefined;

/** The folder in which media is kept. In it, each version of the encoder has a folder of its own. */
const KEPT = join(import.meta.dirname, '../../node_modules/.cache/millrace/media');
/** The files that the media depends on, besides the job. Add each file that one of these begins to import, or old media stays in use. */
const ENCODER = [
  ...['encoders', 'frame-code', 'publisher-child', 'publisher-protocol', 'test-pattern'].map((name) =>
    join(import.meta.dirname, `${name}.ts`),
  ),
  join(import.meta.dirname, '../../node_modules/node-av/package.json'),
];

/** Encodes the given number of seconds. Returns all FLV tags in the order in which an encoder sends them over RTMP. */
export async function recordMedia(
  options: Omit<PublisherOptions, 'url'> & { readonly durationS: number },
): Promise<readonly FlvFileTag[]> {
  const job = jobOf({ ...options, url: '' }, true);
  const name = `${createHash('sha256').update(JSON.stringify(job)).digest('hex').slice(0, 16)}.flv`;
  versionFolder ??= makeVersionFolder();
  const kept = join(await versionFolder, name);
  if (!existsSync(kept)) await encode(job, kept);
  return readFlvTags(await readFile(kept));
}

let versionFolder: Promise<string> | undefined;

/** Makes the folder for the media of this version of the encoder, and removes the folders of other versions. Returns its path. */
async function makeVersionFolder(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ENCODER) hash.update(await readFile(file));
  const name = hash.digest('hex').slice(0, 16);
  await mkdir(join(KEPT, name), { recursive: true });
  for (const other of await readdir(KEPT)) {
    if (other !== name) await rm(join(KEPT, other), { recursive: true, force: true });
  }
  return join(KEPT, name);
}

async function encode(job: PublisherJob, path: string): Promise<void> {
  const file = `${path}-${randomUUID()}`;
  const { reason, messages } = await record({ type: 'record', job: { ...job, url: file } });
  assert.deepEqual({ reason, messages }, { reason: 'finished', messages: [] });
  // Another process may make or read the same media. Because of the renaming, it never finds a file that is not complete.
  await rename(file, path);
}

async function record(command: PublisherCommand): Promise<PublisherReport> {
  // After a crash, a process may have closed its channel before its end is known.
  if (!running?.child.connected) running = start();
  const { child, waiting, idle } = running;
  clearTimeout(idle);
  child.ref();
  child.channel?.ref();
  const answer = Promise.withResolvers<PublisherReport>();
  waiting.push(answer);
  child.send(command);
  return await answer.promise;
}

function start(): Recorder {
  const child = forkPublisher();
  const recorder: Recorder = { child, waiting: [] };
  child.on('message', (event: PublisherEvent) => {
    if (event.type !== 'ended') return;
    recorder.waiting.shift()?.resolve(event.report);
    if (recorder.waiting.length > 0) return;
    // It does not keep the test's process alive, and ends with it.
    child.unref();
    child.channel?.unref();
    recorder.idle = setTimeout(() => end(recorder), IDLE_MS).unref();
  });
  const onEnd = (why: string) => {
    if (running === recorder) running = undefined;
    for (const { reject } of recorder.waiting.splice(0)) reject(new Error(`the encoder ended (${why})`));
  };
  child.on('error', ({ message }) => onEnd(message));
  child.once('exit', (code, signal) => onEnd(String(signal ?? code)));
  return recorder;
}

function end(recorder: Recorder): void {
  if (running === recorder) running = undefined;
  recorder.child.disconnect();
}
