/**
 * `millrace sign`: prints URLs with which anybody can watch a stream with the playback policy `jwt`, to try the policy out.
 */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { configFromEnvironment } from '#config.ts';
import { MillraceError } from '#domain/errors.ts';
import { newSigningKeyId, type StreamId, type UserId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { MAX_SIGNING_KEYS, newKeyPair, pemOf, type SigningKey } from '#domain/signing-key.ts';
import type { Stream } from '#domain/stream.ts';
import { systemClock } from '#lib/clock.ts';
import { makeFolder } from '#store/data-folder.ts';
import type { Store } from '#store/store.ts';
import { readSimpleArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { openExistingStore } from './existing-store.ts';
import { EXIT, Exit, wrongUsage } from './exit-code.ts';
import { operatorReceipt } from './receipt.ts';
import { writeSecret } from './secret-file.ts';
import { browserOrigin } from './sign-in-link.ts';

const COMMAND = 'millrace sign';
const UNITS_S: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
/** The most keys that are read, which is more than a user can have. */
const MAX_KEYS = 100;

/** The subcommand. */
export const sign: Command = {
  name: 'sign',
  summary: 'Print URLs with which anybody can watch a protected stream for a limited time',
  words: ['--stream', '--expires', '--key'],
  help: () => `Usage:
  millrace sign --stream ID [--expires 1h]   print the URLs of the player page and of the playlist, with a token
                [--key FILE]                 sign with this private key, as the API returned it or as PEM

ID is the id of the stream. The URLs are valid for an hour, or for the time of --expires, such as 90s, 30m, 12h or 7d.
Without --key, the command creates a signing key for the stream's user the first time, and keeps its private key in the data folder, where only you can read it.

The server may be running, and must have been started once. MILLRACE_DATA_DIR and MILLRACE_DATABASE_URL name the database, as for the server; MILLRACE_PUBLIC_URL is the address at which clients reach the server.`,
  async run(args) {
    const { streamId, expiresS, keyFile } = readOptions(args);
    await using store = await openExistingStore();
    const stream = await store.streams.get(streamId, 'everyone');
    if (stream === undefined) throw new Exit(EXIT.failed, ['There is no stream with this id.']);
    const config = configFromEnvironment();
    const privateKey = await privateKeyOf(store, stream.userId, { dataDir: config.store.dataDir, keyFile });
    const token = await tokenFor(stream, privateKey, expiresS);
    const { publicUrl, port, tlsCert } = config.http;
    const origin = browserOrigin({ publicUrl, port, isSecure: tlsCert !== undefined });
    console.log(`${origin}/play/${stream.playbackId}#jwt=${token}`);
    console.log(`${origin}/hls/${stream.playbackId}/index.m3u8?jwt=${token}`);
    if (stream.playbackPolicy?.type === 'jwt') return;
    console.error('The playback policy of this stream is not jwt, so the token is not checked.');
  },
};

interface Options {
  readonly streamId: StreamId;
  readonly expiresS: number;
  readonly keyFile: string | undefined;
}

/** Reads the command line. @throws {Exit} when it is wrong */
function readOptions(args: readonly string[]): Options {
  const sentence = 'An argument is unknown, or an option lacks its value.';
  const { options } = readSimpleArguments(args, { options: ['stream', 'expires', 'key'] }, sentence, COMMAND);
  const { stream, expires = '1h', key } = options;
  if (stream === undefined) throw wrongUsage('Name the stream by its id: --stream ID.', COMMAND);
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(expires) ?? [];
  const expiresS = Number(count) * (UNITS_S[unit] ?? Number.NaN);
  if (!(expiresS > 0)) throw wrongUsage('--expires must be a time such as 90s, 30m, 12h or 7d.', COMMAND);
  return { streamId: stream as StreamId, expiresS, keyFile: key };
}

/** Finds or makes a private key of the user. @throws {Exit} when the given file has no key, or not one of the user's */
export async function privateKeyOf(
  store: Pick<Store, 'signingKeys'>,
  userId: UserId,
  { dataDir, keyFile }: { readonly dataDir: string; readonly keyFile?: string | undefined },
): Promise<Secret> {
  const { rows: keys } = await store.signingKeys.ofUser(userId, { limit: MAX_KEYS });
  const file = keyFile ?? join(dataDir, `signing-key-${userId}`);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (keyFile === undefined && error.code === 'ENOENT') return undefined;
    throw new Exit(EXIT.failed, [`The private key cannot be read from ${file} (${error.code}).`], { cause: error });
  });
  const kept = text === undefined ? undefined : new Secret(pemOf(text.trim()));
  if (kept !== undefined && keys.some((key) => !key.disabled && isPairOf(kept, key))) return kept;
  if (keyFile !== undefined) {
    throw new Exit(EXIT.failed, [
      `The file ${file} holds no private key of an enabled signing key of the stream's user; name another file, or leave out --key.`,
    ]);
  }
  return await newKeyOf(store, userId, { dataDir, file });
}

/** Makes a signing key for the user. @throws {Exit} and makes none, when its private key cannot be kept in the file */
async function newKeyOf(
  store: Pick<Store, 'signingKeys'>,
  userId: UserId,
  { dataDir, file }: { readonly dataDir: string; readonly file: string },
): Promise<Secret> {
  const { publicKey, privateKey } = newKeyPair();
  const pem = new Secret(pemOf(privateKey.reveal()));
  makeFolder(dataDir);
  // The file is written before the store has the key. If that failed afterwards, nobody would have the private key, and each attempt would
  // use up one of the keys that the user may have.
  const part = `${file}.part`;
  await writeSecret(part, pem).catch((error: NodeJS.ErrnoException) => {
    const reason = `The private key cannot be kept in ${part} (${error.code}), so no signing key was created.`;
    throw new Exit(EXIT.failed, [reason], { cause: error });
  });
  const createdAt = systemClock.now();
  const key: SigningKey = {
    id: newSigningKeyId(),
    userId,
    name: 'millrace sign',
    createdAt,
    publicKey,
    disabled: false,
  };
  const receipt = operatorReceipt(createdAt, { action: 'signing_key.created', resourceId: key.id });
  try {
    await store.signingKeys.create(key, receipt, { atMost: MAX_SIGNING_KEYS });
  } catch (error) {
    // The store may have the key. If it does, the next attempt uses it.
    if (error instanceof MillraceError && error.code === 'outcome_unknown') await rename(part, file);
    else await rm(part);
    throw error;
  }
  await rename(part, file);
  return pem;
}

function isPairOf(privateKey: Secret, { publicKey }: SigningKey): boolean {
  try {
    const own = createPublicKey(createPrivateKey(privateKey.reveal()));
    return own.equals(createPublicKey(pemOf(publicKey)));
  } catch {
    return false; // the file has no key
  }
}

/** A token with the claims of the reference service. */
async function tokenFor({ playbackId }: Stream, privateKey: Secret, expiresS: number): Promise<string> {
  const pem = createPublicKey(createPrivateKey(privateKey.reveal())).export({ type: 'spki', format: 'pem' });
  const pub = Buffer.from(pem).toString('base64');
  // Not loaded with the other commands, because it takes 10 MB.
  const { importPKCS8, SignJWT } = await import('jose');
  const now = Math.floor(systemClock.now() / 1000);
  return await new SignJWT({
    action: 'pull',
    iss: COMMAND,
    pub,
    sub: playbackId,
    video: 'none',
    iat: now,
    exp: now + expiresS,
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT' })
    .sign(await importPKCS8(privateKey.reveal(), 'ES256'));
}
