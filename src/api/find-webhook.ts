/**
 * Finds the webhook that a request names, and checks what a request sets on a webhook.
 */
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type StreamId, type WebhookId } from '#domain/ids.ts';
import type { Webhook } from '#domain/webhook.ts';
import type { Scope } from '#store/page.ts';
import type { RouteContext } from './api.ts';
import { findStream } from './find-stream.ts';

/** Finds a webhook by its id within a scope. @throws {MillraceError} `not_found` */
export async function findWebhook({ store }: Pick<RouteContext, 'store'>, id: string, scope: Scope): Promise<Webhook> {
  const webhook = isUuid(id) ? await store.webhooks.get(id as WebhookId, scope) : undefined;
  if (webhook === undefined) throw unknownWebhook();
  return webhook;
}

/** Makes the error for an id that no webhook in the caller's scope has. */
export const unknownWebhook = (): MillraceError =>
  new MillraceError('not_found', 'You have no webhook with this id; list yours with GET /webhook.');

/**
 * Checks the URL of a webhook without resolving its host name.
 * @throws {MillraceError} `invalid_body` for a URL to which nothing may be sent
 */
export function mustBeDestination({ guard }: Pick<RouteContext, 'guard'>, url: string): void {
  const problem = guard.problemOf(url);
  if (problem !== undefined) throw new MillraceError('invalid_body', `The field url ${problem}.`);
}

/** The id of the stream that a webhook is limited to, after a check that the user owns it. @throws {MillraceError} `not_found` */
export async function ownStreamId(
  context: Pick<RouteContext, 'store'>,
  id: string,
  owner: Webhook['userId'],
): Promise<StreamId> {
  return (await findStream(context, id, owner)).id;
}
