/**
 * The engines of `objects`. A new one is a file in `engines/` and a line in this file. The suite in `objects.contract.ts` checks it.
 */
import type { Clock } from '#lib/clock.ts';
import type { ObjectSettings } from './config.ts';
import type { ObjectStore } from './objects.ts';

/** A setting of the bucket is missing. The message is a sentence for the operator. */
export class BucketSettingsError extends Error {
  override readonly name = 'BucketSettingsError';
}

/**
 * Opens the bucket of the settings. Undefined when they name none. No request is sent yet. The caller disposes the result.
 * @throws {BucketSettingsError} when a key is missing
 */
export async function openBucket(settings: ObjectSettings, clock: Clock): Promise<ObjectStore | undefined> {
  const { s3Url: url, s3Region: region, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey } = settings;
  if (url === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new BucketSettingsError(
      'MILLRACE_RECORDINGS_S3_URL needs MILLRACE_RECORDINGS_S3_ACCESS_KEY_ID and MILLRACE_RECORDINGS_S3_SECRET_ACCESS_KEY.',
    );
  }
  // Loaded only when there is a bucket, because undici has 110 modules.
  const { S3Store } = await import('./engines/s3.ts');
  return new S3Store({ url, signer: { region, accessKeyId, secretAccessKey }, clock });
}
