/**
 * The first API key: an empty store gets the user `admin`, an admin, with the key `default`, so that somebody can use the API.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiKeyId, newApiKeyId, newUserId } from '#domain/ids.ts';
import { newApiKeySecret, Secret } from '#domain/secret.ts';
import type { ApiKey } from '#domain/user.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';
import { operatorReceipt } from './receipt.ts';
import { writeSecret } from './secret-file.ts';
import { createSignInLink, type LinkBase } from './sign-in-link.ts';

/** The name of the user that the first API key and the first sign-in link are for. */
export const FIRST_USER = 'admin';

/** What {@link ensureFirstKey} needs. */
export interface FirstKeyOptions {
  readonly store: Pick<Store, 'apiKeys' | 'users'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Used instead of a random key. It is not shown, because the operator who set it knows it. */
  readonly bootstrapKey: Secret | undefined;
  readonly dataDir: string;
  /** The terminal at which the server was started; undefined without one. */
  readonly terminal: { write(text: string): unknown } | undefined;
}

/** The file that keeps the secret until its first use when the server was not started at a terminal. */
const fileOf = (dataDir: string): string => join(dataDir, 'initial-api-key');

/**
 * Makes the first key when the store holds none. The secret is shown on the terminal, otherwise written to
 * `<dataDir>/initial-api-key`, readable by the server's user only, until {@link forgetFirstKeyOnUse} removes it. It is never logged and
 * never shown again.
 */
export async function ensureFirstKey(options: FirstKeyOptions): Promise<void> {
  const { store, bootstrapKey, terminal, logger } = options;
  if (await store.apiKeys.exist()) return;
  if (bootstrapKey) {
    await createFirst(options, bootstrapKey);
    return;
  }
  const secret = newApiKeySecret();
  if (terminal) {
    if (await createFirst(options, secret)) {
      terminal.write(`First API key (user admin, name default). It is not shown again:\n\n  ${secret.reveal()}\n\n`);
    }
    return;
  }
  // Written before the store has the key: if writing it failed afterwards, nobody would ever have the secret.
  const file = fileOf(options.dataDir);
  await writeSecret(file, secret);
  const isFirst = await createFirst(options, secret);
  if (isFirst) logger.info({ file }, 'first API key written');
  else await rm(file);
}

/** What {@link firstSignInLink} needs. */
export interface FirstLinkOptions extends Omit<FirstKeyOptions, 'store'> {
  readonly store: Pick<Store, 'apiKeys' | 'users' | 'browserSessions' | 'audit'>;
  readonly base: LinkBase;
}

/**
 * Makes the first link to the dashboard, for the user `admin`, unless there has been one, an API key has been used or revoked, or the
 * operator chose the first key. The start that made the first key may have failed before it printed a link, for example because a port was
 * in use, so a later start makes it. Without a terminal, the link is written to `<dataDir>/initial-sign-in-link` like the first key. The
 * file stays, because the link is worthless after its first use or 15 minutes.
 * @returns the text for the terminal; empty when there is none
 */
export async function firstSignInLink(options: FirstLinkOptions): Promise<string> {
  const { store, logger, terminal, dataDir, bootstrapKey } = options;
  const admin = await store.users.byName(FIRST_USER);
  if (admin === undefined || bootstrapKey !== undefined) return '';
  // Nobody makes 20 changes to admin before the first sign-in.
  const { rows: changes } = await store.audit.list({ resourceId: admin.id }, { limit: 20 });
  if (changes.some(({ action }) => action === 'sign_in_link.created') || (await store.apiKeys.wereUsed())) return '';
  const link = await createSignInLink(options, admin.id);
  if (terminal !== undefined) {
    return `Sign in to the dashboard with this link. It works once, within 15 minutes; npx millrace sign-in prints another one:\n\n  ${link}\n\n`;
  }
  const file = join(dataDir, 'initial-sign-in-link');
  await writeSecret(file, new Secret(link));
  logger.info({ file }, 'first link to the dashboard written');
  return '';
}

/**
 * Removes the file of the first key once the key has been used: its user has it by then, and a secret that stays on the disk may be found
 * by others. When the key is used through another server, this server removes its file at its next start.
 * @returns a function to be called with the id of each API key that is used
 */
export async function forgetFirstKeyOnUse(
  options: Pick<FirstKeyOptions, 'store' | 'logger' | 'dataDir'>,
): Promise<(id: ApiKeyId) => void> {
  const { store, logger } = options;
  const file = fileOf(options.dataDir);
  const secret = await readFile(file, 'utf8').catch(() => undefined);
  if (secret === undefined) return () => {};
  const remove = async (): Promise<void> => {
    try {
      await rm(file, { force: true });
      logger.info({ file }, 'first API key was used, so its file was removed');
    } catch (error) {
      logger.warn({ file, err: error }, 'first API key was used, but its file cannot be removed; delete it');
    }
  };
  let unused = (await store.apiKeys.byHash(new Secret(secret.trim()).hash()))?.key;
  if (unused === undefined || unused.lastSeen > 0) {
    unused = undefined;
    await remove();
  }
  return (id) => {
    if (id !== unused?.id) return;
    unused = undefined;
    void remove();
  };
}

async function createFirst({ store, clock }: FirstKeyOptions, secret: Secret): Promise<boolean> {
  const createdAt = clock.now();
  const known = await store.users.byName(FIRST_USER);
  const user = known ?? { id: newUserId(), name: FIRST_USER, createdAt, isAdmin: true, suspended: false, quotas: {} };
  const key: ApiKey = {
    id: newApiKeyId(),
    userId: user.id,
    name: 'default',
    secretHash: secret.hash(),
    createdAt,
    revokedAt: undefined,
    access: undefined,
    lastSeen: ms(0),
  };
  return await store.apiKeys.createFirst(user, key, [
    ...(known ? [] : [operatorReceipt(createdAt, { action: 'user.created', resourceId: user.id })]),
    operatorReceipt(createdAt, { action: 'api_key.created', resourceId: key.id }),
  ]);
}
