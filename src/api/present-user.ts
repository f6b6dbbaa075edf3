/**
 * Presents users to clients.
 */
import type { Static } from 'typebox';
import { type Quotas, quotasOf } from '#domain/quotas.ts';
import type { User } from '#domain/user.ts';
import { GIB, MIB } from '#lib/units.ts';
import type { RouteContext } from './api.ts';
import { MAX_COUNTED, type UsageSchema } from './schemas/quotas.ts';
import type { UserSchema } from './schemas/user.ts';

/** Counts how much of its quotas a user has in use. */
export async function usageOf(
  { id }: Pick<User, 'id'>,
  { store, live }: Pick<RouteContext, 'store' | 'live'>,
): Promise<Static<typeof UsageSchema>> {
  const [streams, apiKeys, clips, recordedBytes, webhooks] = await Promise.all([
    store.streams.countOf(id, MAX_COUNTED),
    store.apiKeys.countOf(id, MAX_COUNTED),
    store.assets.countOf(id, MAX_COUNTED),
    store.assets.bytesOf(id),
    store.webhooks.countOf(id, MAX_COUNTED),
  ]);
  const { mediaMemoryBytes, ...others } = live.usageOf(id);
  return {
    streams,
    apiKeys,
    clips,
    recordingGib: Math.round((recordedBytes / GIB) * 1000) / 1000,
    webhooks,
    ...others,
    mediaMemoryMib: Math.ceil(mediaMemoryBytes / MIB),
  };
}

/** Presents a user to itself and to admins, with the quotas that apply to it. */
export function presentUser(user: User, defaults: Quotas): Static<typeof UserSchema> {
  const { id, name, isAdmin, suspended, createdAt } = user;
  return { id, kind: 'user', name, admin: isAdmin, suspended, createdAt, quotas: quotasOf(user, defaults) };
}
