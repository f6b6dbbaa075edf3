/**
 * The links that sign a browser in to the dashboard, once.
 */
import { LINK_LIFE_MS } from '#domain/browser-session.ts';
import type { UserId } from '#domain/ids.ts';
import { newBrowserSecret } from '#domain/secret.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { operatorReceipt } from './receipt.ts';

/** Where browsers reach the server: at its public URL if the operator has set one, otherwise at its port on this machine. */
export interface LinkBase {
  readonly publicUrl: string | undefined;
  readonly port: number;
  readonly isSecure: boolean;
}

/** The origin at which browsers reach the server. */
export const browserOrigin = ({ publicUrl, port, isSecure }: LinkBase): string =>
  publicUrl ?? `${isSecure ? 'https' : 'http'}://localhost:${port}`;

/**
 * Makes a link that signs a browser in, and makes an older link of the user invalid. The secret follows the `#`: browsers send that part to
 * no server, so that it reaches no log and no proxy.
 * @returns the URL
 */
export async function createSignInLink(
  {
    store,
    clock,
    base,
  }: { readonly store: Pick<Store, 'browserSessions'>; readonly clock: Clock; readonly base: LinkBase },
  userId: UserId,
): Promise<string> {
  const now = clock.now();
  const secret = newBrowserSecret();
  await store.browserSessions.putLink(
    { userId, secretHash: secret.hash(), expiresAt: ms(now + LINK_LIFE_MS) },
    operatorReceipt(now, { action: 'sign_in_link.created', resourceId: userId }),
  );
  return `${browserOrigin(base)}/dashboard/sign-in#${secret.reveal()}`;
}
