/** Opens recordings as the server does, and reads MP4s of them. It answers each request with the time and memory that it took. */
import { createHash } from 'node:crypto';
import type { MediaPath } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { LocalFileReader } from '#recording/reader/reader.ts';
import { ReaderThread } from '#recording/reader/reader-thread.ts';
import type { VirtualFile } from '#recording/recording.ts';
import { RecordingIndex } from '#recording/recording-index.ts';
import { VirtualMp4s } from '#recording/virtual-mp4.ts';

/** A request. */
export interface Mp4Request {
  readonly path: string;
  /** Opens the recording; or reads the first piece of its MP4, its last MiB, or all of it, by several at once. */
  readonly read: 'open' | 'first' | 'last' | 'together';
  /** For each that reads: the length of its ranges. */
  readonly rangeBytes?: readonly number[];
}

/** What a request took. */
export interface Mp4Answer {
  readonly tookMs: number;
  /** CPU time of the process. */
  readonly cpuMs: number;
  /** Memory of the process. */
  readonly residentBytes: number;
  /** The SHA-256 of the bytes that each reader got. */
  readonly sha256: readonly string[];
}

type Opened = Parameters<VirtualMp4s['open']>[0];

const opened = new Map<string, Opened>();
const { signal } = new AbortController();
let reader: LocalFileReader;
const mp4s = new VirtualMp4s();

process.once('message', ({ folder }: { folder: string }) => {
  reader = new LocalFileReader(new ReaderThread({ folder }));
  process.send?.(0);
  process.on('message', (request: Mp4Request) => {
    void take(request).then((answer) => process.send?.(answer));
  });
});
process.once('disconnect', () => process.exit());

async function take({ path, read, rangeBytes = [] }: Mp4Request): Promise<Mp4Answer> {
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  const known = await recording(path as MediaPath);
  const sha256 = read === 'open' ? [] : await readFrom(await open(known), read, rangeBytes);
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    tookMs: performance.now() - started,
    cpuMs: (user + system) / 1000,
    residentBytes: process.memoryUsage().rss,
    sha256,
  };
}

async function readFrom(file: VirtualFile, read: Mp4Request['read'], rangeBytes: readonly number[]) {
  const { sizeBytes } = file;
  if (read === 'first') {
    await file.read(0, sizeBytes, signal)[Symbol.asyncIterator]().next();
    return [];
  }
  if (read === 'last') return [await hashOf(file, sizeBytes - 2 ** 20, 2 ** 20)];
  return await Promise.all(rangeBytes.map((length) => hashOf(file, 0, length)));
}

/** Reads a file from a position to its end, range by range. */
async function hashOf(file: VirtualFile, from: number, rangeBytes: number): Promise<string> {
  const hash = createHash('sha256');
  for (let at = from; at < file.sizeBytes; at += rangeBytes) {
    const until = Math.min(at + rangeBytes, file.sizeBytes);
    for await (const piece of file.read(at, until, signal)) hash.update(piece);
  }
  return hash.digest('hex');
}

async function recording(path: MediaPath): Promise<Opened> {
  const known = opened.get(path);
  if (known !== undefined) return known;
  const found = await reader.index(path);
  if (found === undefined) throw new Error(`there is no recording ${path}`);
  const source = { path, epoch: ms(found.manifest.epoch), index: new RecordingIndex(found.index), reader };
  opened.set(path, source);
  return source;
}

async function open(source: Opened): Promise<VirtualFile> {
  const file = await mp4s.open(source, 'source', {});
  if (file === undefined) throw new Error(`recording ${source.path} has no MP4`);
  return file;
}
