/**
 * Signs deliveries in two ways, and verifies them: like the reference service (`Livepeer-Signature`), and by Standard Webhooks
 * (https://www.standardwebhooks.com). While a secret is being replaced, each way has a signature with the new and one with the old secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '#domain/secret.ts';
import type { Milliseconds } from '#lib/units.ts';

/** A request to be signed. */
export interface SignedContent {
  /** The event's id, which is the same in every attempt. */
  readonly id: string;
  /** The time of the attempt. */
  readonly at: Milliseconds;
  /** The body, byte for byte. */
  readonly body: string;
}

/** The largest difference between the time of a delivery and the present, in milliseconds, with which it is accepted. */
export const TOLERANCE_MS = 5 * 60_000;

/** The headers that prove that a delivery is genuine. @param secrets at least one, the newest first */
export function signatureHeaders(
  { id, at, body }: SignedContent,
  secrets: readonly Secret[],
): Readonly<Record<string, string>> {
  const seconds = String(Math.floor(at / 1000));
  const standard = secrets.map((secret) => `v1,${hmac(secret, `${id}.${seconds}.${body}`, 'base64')}`);
  return {
    'livepeer-signature': [`t=${at}`, ...secrets.map((secret) => `v1=${hmac(secret, body, 'hex')}`)].join(),
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': standard.join(' '),
  };
}

/** The form of a shared secret for libraries of Standard Webhooks. */
export const standardSecret = (secret: Secret): string => `whsec_${Buffer.from(secret.reveal()).toString('base64')}`;

/**
 * Checks both signatures of a delivery.
 * @param headers with lower-case names
 * @returns what is wrong, as a sentence; undefined when both are right
 */
export function signatureProblem(
  headers: Readonly<Record<string, string | undefined>>,
  body: string,
  secret: Secret,
  now: Milliseconds,
): string | undefined {
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': standard } = headers;
  const reference = headers['livepeer-signature'];
  if (id === undefined || seconds === undefined || standard === undefined || reference === undefined) {
    return 'A signature header is missing.';
  }
  if (!(Math.abs(now - Number(seconds) * 1000) <= TOLERANCE_MS)) return 'The delivery is too old, or from the future.';
  const signatures = standard.split(' ').filter((each) => each.startsWith('v1,'));
  const wanted = `v1,${hmac(secret, `${id}.${seconds}.${body}`, 'base64')}`;
  if (!signatures.some((each) => isEqual(each, wanted))) return 'The Standard Webhooks signature is wrong.';
  const ours = `v1=${hmac(secret, body, 'hex')}`;
  if (!reference.split(',').some((each) => isEqual(each, ours))) return 'The Livepeer-Signature is wrong.';
  return undefined;
}

const hmac = (secret: Secret, content: string, encoding: 'hex' | 'base64'): string =>
  createHmac('sha256', secret.reveal()).update(content).digest(encoding);

function isEqual(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
