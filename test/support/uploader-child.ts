/**
 * A process that uploads recordings, or deletes one, until it is done or killed. The parent sends it the job.
 */
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import type { ObjectSettings } from '#objects/config.ts';
import { openBucket } from '#objects/engines.ts';
import { free } from '#recording/storage/freeing.ts';
import { Uploader } from '#recording/uploader.ts';

/** The job of the child. */
export interface UploaderJob {
  readonly folder: string;
  readonly bucket: Omit<ObjectSettings, 's3SecretAccessKey'> & { readonly secretKey: string };
  /** Recordings that have ended. */
  readonly upload: readonly string[];
  readonly free: readonly string[];
}

process.once('message', (job: UploaderJob) => void run(job));
process.once('disconnect', () => process.exit());

async function run({ folder, bucket: settings, upload, free: unwanted }: UploaderJob): Promise<void> {
  const { secretKey, ...rest } = settings;
  await using bucket = (await openBucket({ ...rest, s3SecretAccessKey: new Secret(secretKey) }, systemClock))!;
  for (const path of unwanted) await free({ folder, bucket }, path, []);
  const left = new Set(upload);
  const { promise, resolve } = Promise.withResolvers<void>();
  await using uploader = new Uploader({
    folder,
    bucket,
    clock: systemClock,
    listener: {
      stored(path) {
        left.delete(path);
        if (left.size === 0) resolve();
      },
      failing: () => {},
      waiting: () => {},
    },
  });
  for (const path of upload) uploader.found(path);
  if (upload.length > 0) await promise;
  process.send!('done');
}
