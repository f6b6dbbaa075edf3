/**
 * The thread that uploads and deletes the files of recordings. It makes blocking calls to the file system and encrypts uploads. Because it
 * is a thread of its own, a slow or broken disk and the encryption hold up nothing else. The main thread's side is `storage-thread.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { openBucket } from '#objects/engines.ts';
import { mustBeThere } from '#recording/recordings-folder.ts';
import { Uploader } from '#recording/uploader.ts';
import { MANIFEST_NAME } from '#recording/writer/protocol.ts';
import { free, freeDisk } from './freeing.ts';
import { freeBytes, recordingsIn, removeLeftFolders } from './local-files.ts';
import type { FromStorage, LocalRecording, StorageAnswers, StorageCall, StorageJob, ToStorage } from './protocol.ts';

const { place, bucket: settings, graceMs } = workerData as StorageJob;
const { folder } = place;
const port = parentPort!;
const tell = (message: FromStorage): void => port.postMessage(message);

const secret = settings?.s3SecretAccessKey;
const bucket =
  settings &&
  (await openBucket(
    { ...settings, s3SecretAccessKey: secret === undefined ? undefined : new Secret(secret) },
    systemClock,
  ));
const uploader =
  bucket &&
  new Uploader({
    folder,
    bucket,
    clock: systemClock,
    ...(graceMs === undefined ? {} : { graceMs }),
    listener: {
      stored: (path) => tell({ type: 'stored', path }),
      failing: (reason) => tell({ type: 'failing', reason }),
      waiting: (files, sizeBytes) => tell({ type: 'waiting', files, sizeBytes }),
    },
  });
const closing = new AbortController();

port.on('message', (message: ToStorage) => {
  switch (message.type) {
    case 'found':
    case 'ended':
    case 'noted':
      uploader?.[message.type](message.path);
      break;
    case 'closed':
      uploader?.closed(message.path, message.periods);
      break;
    case 'call':
      void answer(message.id, message.call);
      break;
    case 'stop':
      void stop();
  }
});

async function answer(id: number, call: StorageCall): Promise<void> {
  try {
    tell({ type: 'answer', id, result: await carryOut(call) });
  } catch (error) {
    tell({ type: 'refusal', id, reason: error instanceof Error ? error.message : String(error) });
  }
}

async function carryOut(call: StorageCall): Promise<StorageAnswers[keyof StorageAnswers]> {
  switch (call.type) {
    case 'local':
      // Otherwise a volume that is mounted later would count as one without recordings.
      mustBeThere(place);
      removeLeft();
      return recordingsIn(folder).map(localRecording);
    case 'free':
    case 'free_disk':
      // Otherwise files on a volume that is not mounted would count as removed.
      mustBeThere(place);
      await uploader?.forget(call.path);
      if (call.type === 'free_disk') await freeDisk(folder, call.path, call.spans);
      else await free({ folder, bucket }, call.path, call.spans, { signal: closing.signal });
      // The volumes that are kept for clips may not all be in the bucket yet.
      if (call.spans.length > 0) uploader?.found(call.path);
      return undefined;
    case 'free_bytes':
      return freeBytes(folder);
    case 'make_room':
      return uploader?.makeRoom() ?? 0;
  }
}

/** Removes what the removal of folders has left. Files that cannot be removed do not keep recordings from being found. */
function removeLeft(): void {
  try {
    removeLeftFolders(folder);
  } catch {
    // The next start tries again.
  }
}

function localRecording(path: string): LocalRecording {
  try {
    const { sessionId } = JSON.parse(readFileSync(join(folder, path, MANIFEST_NAME), 'utf8')) as {
      sessionId?: unknown;
    };
    return { path, sessionId: typeof sessionId === 'string' ? sessionId : undefined };
  } catch {
    return { path, sessionId: undefined };
  }
}

async function stop(): Promise<void> {
  closing.abort();
  await uploader?.[Symbol.asyncDispose]();
  await bucket?.[Symbol.asyncDispose]();
  port.close();
}
