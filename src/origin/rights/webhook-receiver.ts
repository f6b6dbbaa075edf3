/**
 * Makes a gate call: a POST to the URL of the webhook that a policy names, in the form of the reference service and signed like deliveries
 * of events.
 */
import { randomUUID } from 'node:crypto';
import type { WebhookId } from '#domain/ids.ts';
import { secretsOf } from '#domain/webhook.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import type { Sender } from '#webhooks/sender.ts';
import { signatureHeaders } from '#webhooks/signature.ts';
import type { AskReceiver } from './gate-calls.ts';

/** The time after which a receiver counts as failing. */
const TIMEOUT_MS = 3000;

/** The options for calling receivers. */
export interface WebhookReceiverOptions {
  readonly store: { readonly webhooks: Pick<Store['webhooks'], 'get'> };
  readonly sender: Pick<Sender, 'post'>;
  readonly clock: Clock;
}

/** Makes the function that calls receivers. Any 2xx status admits a viewer, unless the JSON body has a field `ret` with another status. */
export function createAskReceiver({ store, sender, clock }: WebhookReceiverOptions): AskReceiver {
  return async ({ stream, playbackId, policy, accessKey }, signal) => {
    const webhook = await store.webhooks.get(policy.webhookId as WebhookId, stream.userId);
    if (webhook === undefined) throw new Error('the webhook of the playback policy does not exist');
    const at = clock.now();
    const body = JSON.stringify({ context: policy.webhookContext ?? {}, accessKey, playbackId, timestamp: at });
    const signatures = signatureHeaders({ id: `gate_${randomUUID()}`, at, body }, secretsOf(webhook, at));
    const {
      statusCode,
      body: answer,
      isComplete,
    } = await sender.post(webhook.url, {
      userId: webhook.userId,
      headers: { 'content-type': 'application/json', 'user-agent': 'millrace', ...signatures },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (statusCode === undefined || statusCode >= 500)
      throw new Error(`the receiver failed: ${statusCode ?? 'no answer'}`);
    if (!isSuccess(statusCode)) return false;
    // The refusal may be in the part of the body that did not arrive.
    if (!isComplete) throw new Error('the body of the receiver is incomplete or too long');
    return isSuccess(retOf(answer.toString()) ?? 200);
  };
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/**
 * Reads the field `ret` of a JSON object, which receivers of the reference service use in place of a status. Undefined when there is none.
 * @throws {SyntaxError} when the body begins like a JSON object and is none. Over HTTP/1.0 a body that breaks off looks complete
 */
function retOf(body: string): number | undefined {
  // `trim` also removes a byte order mark, which `JSON.parse` refuses.
  const text = body.trim();
  if (!text.startsWith('{')) return undefined;
  const answer = JSON.parse(text) as { readonly ret?: unknown };
  return 'ret' in answer ? Number(answer.ret) : undefined;
}
