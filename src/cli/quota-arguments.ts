/**
 * Changes of quotas as arguments of a command: `streams=500 viewers=0 apiKeys=default`.
 */
import { MAX_QUOTA, QUOTA_NAMES, type QuotaChange, type QuotaName } from '#domain/quotas.ts';
import { wrongUsage } from './exit-code.ts';

/** A whole number in decimal digits. */
const WHOLE_NUMBER = /^\d{1,10}$/;

/** Reads changes, each `NAME=VALUE`. @throws {Exit} when one is not valid, without repeating it; see `readArguments` */
export function quotaChangeOf(args: readonly string[], command: string): QuotaChange {
  const change: { [Name in QuotaName]?: number | null } = {};
  for (const arg of args) {
    const [typed, value = '', ...more] = arg.split('=');
    const name = QUOTA_NAMES.find((known) => known === typed);
    const quota = quotaOf(value);
    if (name === undefined || quota === undefined || more.length > 0 || name in change) {
      throw wrongUsage(
        `Each change must be QUOTA=VALUE, and no QUOTA may be named twice. QUOTA is one of ${QUOTA_NAMES.join(', ')}. VALUE is default, or a whole number up to ${MAX_QUOTA}, where 0 means no limit.`,
        command,
      );
    }
    change[name] = quota;
  }
  return change;
}

/** Reads a quota. @returns null for the default, undefined for text that is not a quota */
function quotaOf(value: string): number | null | undefined {
  if (value === 'default') return null;
  return WHOLE_NUMBER.test(value) && Number(value) <= MAX_QUOTA ? Number(value) : undefined;
}
