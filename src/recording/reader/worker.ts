/**
 * A thread that reads recordings for viewers. Its calls block. It is separate from the writer thread, so that viewers never delay
 * writing. The main thread's side is `reader-thread.ts`.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { encodeRecord, MAX_INDEX_BYTES } from '#recording/index-file.ts';
import { makeMovie } from '#recording/movie-file.ts';
import { readIndex } from '#recording/recording-index.ts';
import { readIndexFiles, readIndexOf } from '#recording/recovery.ts';
import { MANIFEST_NAME, type Manifest } from '#recording/writer/protocol.ts';
import type { NumberedAnswer, ReadAnswers, ReaderJob, ReadRequest, StoredFiles, ToReader } from './protocol.ts';

const { folder } = workerData as ReaderJob;

/** How long the index of a recording in the bucket is kept after it was read. */
const KEPT_MS = 600_000;
/** The last record of a recording that has ended. */
const END = encodeRecord({ type: 'end' });
/** The index files of ended recordings that are in the bucket, which never change. Every MP4 needs those of its recording. */
const kept = new LRUCache<string, readonly Uint8Array[]>({
  maxSize: MAX_INDEX_BYTES,
  sizeCalculation: (files) => files.reduce((sum, { length }) => sum + length, 1),
  ttl: KEPT_MS,
  ttlAutopurge: true,
});

parentPort?.on('message', (message: ToReader) => {
  if (message === 'close') {
    parentPort?.close();
    return;
  }
  const { number, request } = message;
  let reply: NumberedAnswer;
  const transfer: ArrayBuffer[] = [];
  try {
    reply = { number, answer: answer(request, transfer) };
  } catch (error) {
    reply = { number, failure: (error as Error).message };
  }
  parentPort?.postMessage(reply, transfer);
});

/** @param transfer collects the buffers that are handed to the main thread without being copied */
function answer(request: ReadRequest, transfer: ArrayBuffer[]): ReadAnswers[ReadRequest['type']] {
  switch (request.type) {
    case 'index':
      return findIndex(join(folder, request.path));
    case 'parse':
      return parse(request.path, request.files);
    case 'file': {
      const bytes = readSpan(join(folder, request.path, request.name), request.from, request.until);
      if (bytes !== undefined) transfer.push(bytes.buffer);
      return bytes;
    }
    case 'movie': {
      const local = request.files === undefined ? readIndexFiles(join(folder, request.path)) : [];
      const files = local.length > 0 ? local : known(request.path, request.files);
      if (files === undefined) return undefined;
      const movie = makeMovie(files, request.movie);
      if (movie !== undefined) transfer.push(movie.head.buffer);
      return { movie };
    }
  }
}

function parse(path: string, stored: StoredFiles): ReadAnswers['parse'] {
  const files = known(path, stored);
  return files && readIndex(files).data;
}

/** The files of a recording that is not on this machine: those that were handed over, or those that were kept. */
function known(path: string, stored: StoredFiles): readonly Uint8Array[] | undefined {
  const last = stored?.at(-1);
  if (last !== undefined && Buffer.compare(last.subarray(-END.length), END) === 0) kept.set(path, stored!);
  return stored ?? kept.get(path);
}

function findIndex(recording: string): ReadAnswers['index'] {
  const index = readIndexOf(recording);
  if (index === undefined) return undefined;
  const manifest = JSON.parse(readFileSync(join(recording, MANIFEST_NAME), 'utf8')) as Manifest;
  return { index: index.data, manifest };
}

function readSpan(path: string, from: number, until: number): Uint8Array<ArrayBuffer> | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const to = new Uint8Array(until - from);
    let read = 0;
    while (read < to.length) {
      const count = readSync(file, to, read, to.length - read, from + read);
      if (count === 0) return undefined;
      read += count;
    }
    return to;
  } finally {
    closeSync(file);
  }
}
