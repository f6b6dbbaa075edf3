/**
 * The receipt of a change made on the command line by the operator, who needs no key.
 */
import type { AuditAction } from '#domain/audit.ts';
import { newAuditId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Receipt } from '#store/receipt.ts';

/** Makes the entry of the audit log for a change. See `#api/receipt.ts` for changes over HTTP. */
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
