/**
 * Signs deliveries in two ways, and verifies them: as the reference service does (`Livepeer-Signature`), and as Standard Webhooks says
 * (https://www.standardwebhooks.com). While a secret is being replaced, each way carries a signature by the new and one by the old secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '#domain/secret.ts';
import type { Milliseconds } from '#lib/units.ts';

/** A request to be signed. */
export interface SignedContent {
  /** The event's id, the same for every attempt. */
  readonly id: string;
  /** When the attempt is made. */
  readonly at: Milliseconds;
  /** The body, byte for byte. */
  readonly body: string;
}

/** How old or how far in the future a delivery may be that is still accepted; in milliseconds. */
export const TOLERANCE_MS = 5 * 60_000;

/** The headers that prove a delivery genuine. @param secrets at least one; the one that holds longest first */
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

/** The form in which Standard Webhooks libraries take a shared secret. */
export const standardSecret = (secret: Secret): string => `whsec_${Buffer.from(secret.reveal()).toString('base64')}`;

/**
 * Checks both signatures of a delivery.
 * @param headers by lower-case names
 * @returns what is wrong, as a sentence; undefined when nothing is
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
