/**
 * Entries of the audit log as admins see them.
 */
import type { Static } from 'typebox';
import type { AuditEntry } from '#domain/audit.ts';
import type { AuditEntrySchema } from './schemas/audit-entry.ts';

/** An entry, to admins. */
export function presentAuditEntry(entry: AuditEntry): Static<typeof AuditEntrySchema> {
  const { actor, remoteAddress: address, requestId } = entry;
  return {
    id: entry.id,
    createdAt: entry.at,
    action: entry.action,
    resourceId: entry.resourceId,
    fields: [...entry.fields],
    ...(actor && { actor: { userId: actor.userId, tokenId: actor.keyId, tokenName: actor.keyName } }),
    ...(address !== undefined && { address }),
    ...(requestId !== undefined && { requestId }),
  };
}
