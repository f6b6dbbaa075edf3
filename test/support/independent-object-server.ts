/**
 * An S3 server that was written by others, to check requests, names and lists independently of our own. It accepts any signature.
 */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';
import { Secret } from '#domain/secret.ts';
import type { ObjectSettings } from '#objects/config.ts';

/** Starts s3rver on a folder of its own. */
export async function startIndependentServer(): Promise<AsyncDisposable & { readonly settings: ObjectSettings }> {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-s3rver-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: 'recordings' }],
  });
  const { port } = await server.run();
  return {
    settings: {
      s3Url: `http://127.0.0.1:${port}/recordings/a/prefix`,
      s3Region: 'us-east-1',
      s3AccessKeyId: 'S3RVER',
      s3SecretAccessKey: new Secret('S3RVER'),
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}
