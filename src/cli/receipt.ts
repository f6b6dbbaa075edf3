/**
 * The receipt of a change made on the command line: the operator's, who needs no key.
 */
import type { AuditAction } from '#domain/audit.ts';
import { newAuditId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Receipt } from '#store/store.ts';

/** What the audit log notes; see `#api/receipt.ts` for changes over HTTP. */
export function operatorReceipt(
  at: Milliseconds,
  change: { readonly action: AuditAction; readonly resourceId: string; readonly fields?: readonly string[] },
): Receipt {
  const { action, resourceId, fields = [] } = change;
  return {
    audit: {
      id: newAuditId(),
      at,
      actor: undefined,
      action,
      resourceId,
      fields,
      remoteAddress: undefined,
      requestId: undefined,
    },
  };
}
