/**
 * `GET /browser-session` and `DELETE /browser-session/<id>`.
 */
import type { ApiRoute } from '#api/api.ts';
import { keyScopeOf } from '#api/authenticate.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { documentedOnly, type RawQuery, refused } from '#api/query.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { BrowserSessionSchema } from '#api/schemas/browser-session.ts';
import { PAGE_QUERY, USER_QUERY } from '#api/schemas/list-query.ts';
import { browserSessionIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { isOver } from '#domain/browser-session.ts';
import { MillraceError } from '#domain/errors.ts';
import { type ApiKeyId, type BrowserSessionId, isUuid } from '#domain/ids.ts';
import type { ApiKey } from '#domain/user.ts';
import { Type } from '#lib/schema.ts';

const list = {
  operationId: 'listBrowserSessions',
  summary: 'List browser sessions',
  description:
    'Lists the browsers that are signed in to the dashboard as you, newest first. The `Link` header leads to the next page.',
  tags: ['api-token'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({ ...PAGE_QUERY, ...USER_QUERY }),
  response: answers(200, Type.Array(ref(BrowserSessionSchema))),
};

/** Lists the browser sessions of the caller or, for an admin, of any user. */
export const listBrowserSessions: ApiRoute = (api, context) => {
  const options = { schema: list, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/browser-session', options, async (request, reply) => {
    const { scope, browserSessionId, at } = request.caller;
    if (scope === 'everyone') throw refused('all', 'cannot be used for browser sessions; name one user with userId');
    const page = await context.store.browserSessions.ofUser(
      scope,
      readPage(request.query as RawQuery, 'browser-session'),
    );
    linkNext(request, reply, context, { path: '/browser-session', list: 'browser-session', next: page.next });
    const keyIds = new Set(page.rows.flatMap(({ keyId }) => keyId ?? []));
    const keys = new Map<ApiKeyId, ApiKey | undefined>();
    for (const id of keyIds) keys.set(id, await context.store.apiKeys.get(id, scope));
    return page.rows
      .filter((session) => !isOver({ session, key: session.keyId && keys.get(session.keyId) }, at))
      .map(({ id, userId, keyId, createdAt, lastSeen, address }) => ({
        id,
        kind: 'browser-session' as const,
        userId,
        ...(keyId !== undefined && { tokenId: keyId }),
        createdAt,
        lastSeen,
        address,
        isCurrent: id === browserSessionId,
      }));
  });
};

const end = {
  operationId: 'deleteBrowserSession',
  summary: 'End a browser session',
  description: 'Signs the browser out. Its next request is refused, and its live events end within a second.',
  tags: ['api-token'],
  security: [{ apiKey: [] }],
  params: browserSessionIdParams,
  response: answers(204, NOTHING, 404),
};

/** Ends a browser session of the caller or, if the caller is an admin, of anybody. */
export const deleteBrowserSession: ApiRoute = (api, { authenticate, store }) => {
  api.delete('/browser-session/:id', { schema: end, onRequest: authenticate }, async (request, reply) => {
    const id = request.params.id as BrowserSessionId;
    const receipt = receiptOf(request, { action: 'browser_session.deleted', resourceId: id }, NO_CONTENT);
    if (!isUuid(id) || !(await store.browserSessions.end(id, keyScopeOf(request.caller), receipt))) {
      throw new MillraceError(
        'not_found',
        'You have no browser session with this id; list yours with GET /browser-session.',
      );
    }
    return reply.code(204).send();
  });
};
