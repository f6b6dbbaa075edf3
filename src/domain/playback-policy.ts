/**
 * The playback policy of a stream: who may watch it.
 */

/** Who may watch. `public`: all. `jwt`: viewers with a token signed by the owner. `webhook`: viewers accepted by the owner's server. */
export const POLICY_TYPES = ['public', 'jwt', 'webhook'] as const;

/** Who may watch a stream. A stream without a policy is public. */
export interface PlaybackPolicy {
  readonly type: (typeof POLICY_TYPES)[number];
  /** The webhook whose URL decides about each viewer. Required for the type `webhook`, and ignored for the others. */
  readonly webhookId?: string;
  /** Sent to that URL unchanged. It is shown to the owner only. */
  readonly webhookContext?: Readonly<Record<string, unknown>>;
  /** For how many seconds an answer of that URL is valid; {@link DEFAULT_REFRESH_INTERVAL_S} when left out. */
  readonly refreshInterval?: number;
  /** Origins (`https://example.com`) of the only pages that may play the stream; `*`, an empty list or none = all pages. */
  readonly allowedOrigins?: readonly string[];
}

/** The same as in the reference service. */
export const DEFAULT_REFRESH_INTERVAL_S = 600;

/** Whether viewers need a right, so that their answers must not reach others through a cache. */
export function isRestricted(policy: PlaybackPolicy | undefined): policy is PlaybackPolicy {
  return policy !== undefined && (policy.type !== 'public' || limitsOrigins(policy));
}

/** Whether only some pages may play the stream. */
export function limitsOrigins({ allowedOrigins = [] }: PlaybackPolicy): boolean {
  return allowedOrigins.length > 0 && !allowedOrigins.includes('*');
}

/** Why a viewer was refused. */
export const REFUSAL_REASONS = [
  'no_credentials', // neither a token nor an access key, or not the kind that the policy asks for
  'malformed',
  'unknown_key',
  'disabled_key',
  'wrong_signature',
  'expired',
  'early',
  'wrong_stream',
  'refused_by_webhook',
  'webhook_failed', // the owner's server did not answer, or not correctly
  'too_many_attempts', // the viewer's network has sent too many wrong tokens or access keys
  'origin_not_allowed',
] as const;
/** One of {@link REFUSAL_REASONS}. */
export type RefusalReason = (typeof REFUSAL_REASONS)[number];
