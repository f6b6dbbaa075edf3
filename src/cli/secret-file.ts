/**
 * Files that hold a secret for the operator.
 */
import { open, rm } from 'node:fs/promises';
import type { Secret } from '#domain/secret.ts';

/** Writes the secret durably, into a new file: an older one may be readable by others, or be a link to somewhere else. */
export async function writeSecret(file: string, secret: Secret): Promise<void> {
  await rm(file, { force: true });
  await using handle = await open(file, 'wx', 0o600);
  await handle.writeFile(`${secret.reveal()}\n`);
  await handle.sync();
}
