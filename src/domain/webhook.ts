/**
 * Webhooks: URLs that events are sent to.
 */
import { type Milliseconds, ms } from '#lib/units.ts';
import type { DisabledReason, EventType, WebhookEventType } from './events.ts';
import { type EventId, randomText, type StreamId, type UserId, type WebhookId, type WebhookLogId } from './ids.ts';
import { Secret } from './secret.ts';

/** Milliseconds after a change of the secret in which deliveries are signed with the previous secret, too. */
const SECRET_OVERLAP_MS = 24 * 3600 * 1000;
/** The most previous secrets that deliveries are signed with. */
const MAX_PREVIOUS_SECRETS = 10;

/** A secret that was replaced, and until when requests are signed with it, too. */
export interface PreviousSecret {
  readonly secret: Secret;
  readonly until: Milliseconds;
}

/** Why a webhook gets no events: its user said so, or one of {@link DisabledReason}. */
export type WebhookDisabledReason = DisabledReason | 'user';

/** The latest failed delivery to a webhook. */
export interface WebhookFailure {
  readonly at: Milliseconds;
  /** HTTP status; undefined when there was no answer. */
  readonly statusCode: number | undefined;
  /** Why it failed, as a sentence. */
  readonly error: string;
}

/** A webhook. */
export interface Webhook {
  readonly id: WebhookId;
  readonly userId: UserId;
  readonly name: string;
  readonly url: string;
  readonly createdAt: Milliseconds;
  /** The types of the events that it gets. */
  readonly events: readonly WebhookEventType[];
  /** The only stream whose events it gets; undefined for all streams of the user. */
  readonly streamId: StreamId | undefined;
  readonly sharedSecret: Secret;
  /** The secrets before this one that deliveries are signed with, too, the newest first. */
  readonly previousSecrets: readonly PreviousSecret[];
  readonly disabled: { readonly at: Milliseconds; readonly reason: WebhookDisabledReason } | undefined;
  /** When a request was last sent to it; undefined for never. */
  readonly lastTriggeredAt: Milliseconds | undefined;
  readonly lastFailure: WebhookFailure | undefined;
  /** The number of the event after which failed deliveries are still to be made due again. Undefined when that is done. */
  readonly resendAfter: number | undefined;
}

/** The states of a delivery that has not succeeded. When it succeeds, it is deleted, and only its log stays. */
export const DELIVERY_STATES = ['pending', 'dead'] as const;
/** One of {@link DELIVERY_STATES}. `dead` means that it was given up, and is sent again only when its user requests that. */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The delivery of an event to a webhook that has not succeeded. */
export interface WebhookDelivery {
  readonly webhookId: WebhookId;
  readonly eventId: EventId;
  readonly type: EventType;
  readonly streamId: StreamId | undefined;
  readonly sequence: number;
  readonly state: DeliveryState;
  /** The number of attempts that failed. */
  readonly attempts: number;
  readonly createdAt: Milliseconds;
  /** The earliest time of the next attempt. Other deliveries may delay it. */
  readonly nextAttemptAt: Milliseconds;
}

/** One request that was sent to a webhook, and what came of it. Holds neither secrets nor signatures. */
export interface WebhookLog {
  readonly id: WebhookLogId;
  readonly webhookId: WebhookId;
  readonly userId: UserId;
  readonly eventId: EventId;
  readonly type: EventType;
  readonly streamId: StreamId | undefined;
  readonly at: Milliseconds;
  readonly durationMs: number;
  readonly success: boolean;
  /** Which attempt at this delivery it was, from 1. */
  readonly attempt: number;
  readonly url: string;
  /** As it was sent; cut off after {@link LOGGED_REQUEST_BYTES}. */
  readonly requestBody: string;
  /** Undefined when there was no answer. */
  readonly statusCode: number | undefined;
  /** Base64 of the first {@link LOGGED_RESPONSE_BYTES} of the answer; empty when there was none. */
  readonly responseBody: string;
  /** Why it failed, as a sentence; undefined when it did not. */
  readonly error: string | undefined;
}

/** How much of a request's body the log keeps, in UTF-8. */
export const LOGGED_REQUEST_BYTES = 4096;
/** How much of a response's body the log keeps. */
export const LOGGED_RESPONSE_BYTES = 1024;

/** The secrets that every request to a webhook is signed with at this time, the newest first. */
export function secretsOf(
  { sharedSecret, previousSecrets }: Pick<Webhook, 'sharedSecret' | 'previousSecrets'>,
  at: Milliseconds,
): readonly Secret[] {
  return [sharedSecret, ...previousSecrets.filter(({ until }) => until > at).map(({ secret }) => secret)];
}

/**
 * Replaces the secret of a webhook. Requests are signed with every secret that was valid within the last 24 hours, because receivers may
 * still have any of them.
 */
export function replaceSecret(
  { sharedSecret, previousSecrets }: Pick<Webhook, 'sharedSecret' | 'previousSecrets'>,
  next: Secret,
  at: Milliseconds,
): Pick<Webhook, 'sharedSecret' | 'previousSecrets'> {
  const replaced = [{ secret: sharedSecret, until: ms(at + SECRET_OVERLAP_MS) }, ...previousSecrets];
  const valid = replaced.filter(({ secret, until }) => until > at && !secret.equals(next));
  return { sharedSecret: next, previousSecrets: valid.slice(0, MAX_PREVIOUS_SECRETS) };
}

/** A new shared secret: 160 random bits. */
export const newSharedSecret = (): Secret => new Secret(randomText(32));
