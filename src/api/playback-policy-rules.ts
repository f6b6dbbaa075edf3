/**
 * The rules of a playback policy that its schema cannot express.
 */
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type UserId, type WebhookId } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import { originOf } from '#lib/origin-of.ts';
import type { Store } from '#store/store.ts';
import { isStorable } from './schemas/text.ts';

const MAX_CONTEXT_LENGTH = 4096;

/** Describes what is wrong with a policy in a sentence that repeats no value, or gives undefined when it can be stored. */
export function playbackPolicyProblem({ type, webhookId, webhookContext, allowedOrigins = [] }: PlaybackPolicy) {
  if (type === 'webhook' && webhookId === undefined) {
    return 'The field playbackPolicy.webhookId is missing; send the id of one of your webhooks, whose URL is to be asked about each viewer.';
  }
  const context = JSON.stringify(webhookContext ?? {});
  if (context.length > MAX_CONTEXT_LENGTH || !isStorable(context) || context.includes('\\u0000')) {
    return `The field playbackPolicy.webhookContext must have at most ${MAX_CONTEXT_LENGTH} characters as JSON, without U+0000; send less.`;
  }
  const wrong = allowedOrigins.findIndex((origin) => origin !== '*' && !isOrigin(origin));
  if (wrong !== -1) {
    return `The field playbackPolicy.allowedOrigins[${wrong}] must be an origin such as https://example.com, without a path, or *.`;
  }
  return undefined;
}

/**
 * Checks that the webhook which a policy names belongs to the owner of the stream.
 * @throws {MillraceError} `invalid_request`, as the reference service answers
 */
export async function mustHaveWebhook(
  policy: PlaybackPolicy | null | undefined,
  owner: UserId,
  store: Pick<Store, 'webhooks'>,
): Promise<void> {
  const id = policy?.webhookId;
  if (id === undefined || (isUuid(id) && (await store.webhooks.get(id as WebhookId, owner)) !== undefined)) return;
  throw new MillraceError(
    'invalid_request',
    'The field playbackPolicy.webhookId names no webhook of yours; create one with POST /webhook.',
  );
}

/** Whether a text is an origin as browsers send it, in any letter case. A slash at the end is accepted, as in the reference service. */
function isOrigin(text: string): boolean {
  return originOf(text) === text.replace(/\/$/, '').toLowerCase();
}
