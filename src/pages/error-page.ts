/**
 * Errors for people who opened an address in a browser. Programs get the same error as JSON.
 */
import type { ErrorCode, MillraceError } from '#domain/errors.ts';
import { watchForm } from './landing-page.ts';
import { escapeHtml } from './layout.ts';

/** The titles of the pages of some errors. The other errors share one. */
const TITLES: Partial<Record<ErrorCode, string>> = {
  not_found: 'There is nothing here',
  method_not_allowed: 'There is no page here',
  shutting_down: 'The server is restarting',
  store_unavailable: 'The server cannot answer now',
  internal_error: 'Something went wrong',
};

/** The title of the page of an error. @param isPlayer whether the address is that of a player page */
export function errorTitle({ code }: MillraceError, isPlayer: boolean): string {
  if (isPlayer && code === 'not_found') return 'There is no such stream';
  return TITLES[code] ?? 'The request cannot be answered';
}

/** HTML of the content of an error page. */
export function errorContent(
  error: MillraceError,
  { isPlayer, root, requestId }: { readonly isPlayer: boolean; readonly root: string; readonly requestId: string },
): string {
  const home = root === '' ? './' : root;
  return `    <main class="plain" id="content">
      <p class="status">${error.status}</p>
      <h1>${errorTitle(error, isPlayer)}</h1>
      <p class="lead">${escapeHtml(error.message)}</p>
${isPlayer ? `${watchForm(`${root}play`)}\n` : ''}      <p><a href="${home}">Start page</a> · <a href="${root}docs">Documentation</a></p>
      <p class="fine">Request <code>${escapeHtml(requestId)}</code></p>
    </main>`;
}
