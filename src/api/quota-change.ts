/**
 * Changes of a user's quotas.
 */
import type { Static } from 'typebox';
import { QUOTA_NAMES, type Quotas } from '#domain/quotas.ts';
import type { QuotaChangeSchema } from './schemas/quotas.ts';

/** What a user has of its own after a change: what is not named stays, null takes a quota back to the default. */
export function changedQuotas(own: Partial<Quotas>, change: Static<typeof QuotaChangeSchema>): Partial<Quotas> {
  const entries = QUOTA_NAMES.flatMap((name) => {
    const value = change[name] === undefined ? own[name] : change[name];
    return value === undefined || value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}
