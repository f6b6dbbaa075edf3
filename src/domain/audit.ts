/**
 * The audit log: who changed what, when and from where.
 */
import type { Milliseconds } from '#lib/units.ts';
import type { ApiKeyId, AuditId, BrowserSessionId, UserId } from './ids.ts';

/** Everything that is logged. Part of the interface: add, never rename. */
export const AUDIT_ACTIONS = [
  'stream.created',
  'stream.updated',
  'stream.deleted',
  'stream.terminated',
  'stream.key_rotated',
  'api_key.created',
  'api_key.deleted',
  'browser_session.created',
  'browser_session.deleted',
  'sign_in_link.created',
  'signing_key.created',
  'signing_key.updated',
  'signing_key.deleted',
  'user.created',
  'user.updated',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.resent',
  'webhook.tested',
  'clip.created',
  'asset.updated',
  'asset.deleted',
  'asset.adopted',
] as const;
/** One of {@link AUDIT_ACTIONS}. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** One change. Holds no secret and no value, only what was changed. */
export interface AuditEntry {
  readonly id: AuditId;
  readonly at: Milliseconds;
  /** Who did it; undefined for the operator on the command line. */
  readonly actor:
    | { readonly userId: UserId; readonly keyId: ApiKeyId | BrowserSessionId; readonly keyName: string }
    | undefined;
  readonly action: AuditAction;
  /**
   * Id of the stream, API key, browser session, signing key, user, webhook or asset that was changed. For a sign-in link it is the id of
   * its user.
   */
  readonly resourceId: string;
  /** Names of the fields that were changed, for an update. */
  readonly fields: readonly string[];
  /** Address it came from; undefined for the command line. */
  readonly remoteAddress: string | undefined;
  /** The id of the request, which the server's log has, too; undefined for the command line. */
  readonly requestId: string | undefined;
}
