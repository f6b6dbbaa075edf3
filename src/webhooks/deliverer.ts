/**
 * Makes attempts at deliveries: builds the request, sends it, and decides what happens to the delivery.
 */
import { MillraceError } from '#domain/errors.ts';
import { newWebhookLogId } from '#domain/ids.ts';
import {
  LOGGED_REQUEST_BYTES,
  LOGGED_RESPONSE_BYTES,
  secretsOf,
  type Webhook,
  type WebhookLog,
} from '#domain/webhook.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import type { DeliveryOutcome, StoredDelivery } from '#store/webhook-store.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { requestBody } from './request-body.ts';
import { type NextStep, nextStep, type RetryLimits, retryAfterOf } from './retry-schedule.ts';
import type { Sender } from './sender.ts';
import { signatureHeaders } from './signature.ts';
import type { PresentStream, Resending } from './webhooks.ts';

/** The headers besides the signatures. */
const HEADERS = { 'content-type': 'application/json', 'user-agent': 'millrace' };

/** A delivery that is due. */
export interface DueDelivery extends StoredDelivery {
  /** The event's stream in the form for receivers. */
  readonly stream: object | undefined;
}

/** The result of an attempt. */
export interface Attempt {
  readonly outcome: DeliveryOutcome;
  readonly next: NextStep;
}

/** The options of a deliverer. */
export interface DelivererOptions {
  readonly store: Pick<Store, 'streams' | 'webhooks'>;
  readonly sender: Pick<Sender, 'post'>;
  readonly presentStream: PresentStream;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'webhookAttempts' | 'webhookDelay'>;
  readonly limits: RetryLimits;
  /** The origin of URLs in payloads, where the operator has set it. */
  readonly publicUrl?: string | undefined;
  /** Returns a number from 0 to 1. */
  readonly random?: () => number;
}

/** Makes attempts at deliveries. */
export class Deliverer implements Resending {
  readonly #options: DelivererOptions;

  constructor(options: DelivererOptions) {
    this.#options = options;
  }

  /** Adds to each delivery the stream that it is about, in its present state. */
  async withStreams(due: Awaited<ReturnType<Store['webhooks']['due']>>): Promise<readonly DueDelivery[]> {
    const { store, presentStream } = this.#options;
    const ids = [...new Set(due.flatMap(({ event }) => event.streamId ?? []))];
    const streams = await store.streams.getMany(ids, 'all');
    const presented = new Map(streams.map((stream) => [stream.id, presentStream(stream)]));
    return due.map((each) => ({
      ...each,
      stream: each.event.streamId === undefined ? undefined : presented.get(each.event.streamId),
    }));
  }

  /** Makes one attempt. @throws the reason of `signal` when it aborts; the attempt does not count then */
  async attempt(webhook: Webhook, due: DueDelivery, signal: AbortSignal): Promise<Attempt> {
    const { sender, clock, metrics, limits, publicUrl, random = Math.random } = this.#options;
    const { event, attempts, isRepeated } = due;
    const at = clock.now();
    const body = requestBody(event, webhook.id, due.stream, at, publicUrl);
    const headers = { ...HEADERS, ...signatureHeaders({ id: event.id, at, body }, secretsOf(webhook, at)) };
    if (attempts === 0 && !isRepeated) metrics.webhookDelay.observe(Math.max(0, at - event.at) / 1000);

    const sent = await sender.post(webhook.url, { userId: webhook.userId, headers, body, signal });
    const { statusCode, durationMs } = sent;
    const retryAfterMs = retryAfterOf(sent.retryAfter, clock.now());
    const next = nextStep({ statusCode, retryAfterMs, attempts, ageMs: due.ageMs }, random(), limits);
    metrics.webhookAttempts.inc({ result: next.type });
    const success = next.type === 'delivered';
    const log: WebhookLog = {
      id: newWebhookLogId(),
      webhookId: webhook.id,
      userId: webhook.userId,
      eventId: event.id,
      type: event.type,
      streamId: event.streamId,
      at,
      durationMs,
      success,
      attempt: attempts + 1,
      url: webhook.url,
      requestBody: beginningOf(body, LOGGED_REQUEST_BYTES),
      statusCode,
      responseBody: sent.body.subarray(0, LOGGED_RESPONSE_BYTES).toString('base64'),
      error: success ? undefined : (sent.error ?? `The receiver answered ${statusCode}.`),
    };
    // Disabling the webhook gives the delivery up. A webhook that has another URL by now is not disabled, and the delivery is sent there.
    const result = next.type === 'gone' ? ({ type: 'retry', delayMs: limits.firstMs } as const) : next;
    return { outcome: { sequence: event.sequence, log, result }, next };
  }

  async resend(webhook: Webhook, entry: WebhookLog): Promise<DeliveryOutcome> {
    const event = await this.#options.store.webhooks.event(entry.eventId);
    if (event === undefined) {
      throw new MillraceError('not_found', 'The event of this entry has been deleted, so it cannot be sent again.');
    }
    const [due] = await this.withStreams([{ event, attempts: entry.attempt, ageMs: 0, isRepeated: true }]);
    return (await this.attempt(webhook, due!, new AbortController().signal)).outcome;
  }
}

/** The whole characters within the first bytes of a text in UTF-8. The store refuses half a character. */
function beginningOf(text: string, bytes: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}
