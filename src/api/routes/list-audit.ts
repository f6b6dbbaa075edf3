/**
 * `GET /audit`.
 */
import type { Static } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { adminOnly } from '#api/authenticate.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { documentedOnly, type RawQuery, readText, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { AuditEntrySchema } from '#api/schemas/audit-entry.ts';
import { idQuery, PAGE_QUERY } from '#api/schemas/list-query.ts';
import { ref } from '#api/schemas/ref.ts';
import { STREAM_ID, USER_ID } from '#api/schemas/sample-ids.ts';
import type { AuditEntry } from '#domain/audit.ts';
import { isUuid, type UserId } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';

const schema = {
  operationId: 'listAudit',
  summary: 'Read the audit log',
  description:
    'For admins only. Lists every change made over HTTP or on the command line, newest first, for as long as the operator keeps entries. Refused requests leave no entry. The `Link` header leads to the next page.',
  tags: ['audit'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({
    ...PAGE_QUERY,
    userId: idQuery('Lists only the changes that this user made.', USER_ID),
    resourceId: idQuery('Lists only the changes of what has this id, such as a stream or a user.', STREAM_ID),
  }),
  response: answers(200, Type.Array(ref(AuditEntrySchema))),
};

/** Lists the entries of the audit log. */
export const listAudit: ApiRoute = (api, context) => {
  const onRequest = [context.authenticate, adminOnly];
  api.get('/audit', { schema, onRequest, validatorCompiler: documentedOnly }, async (request, reply) => {
    const query = request.query as RawQuery;
    const [userId, resourceId] = [readId(query, 'userId'), readId(query, 'resourceId')];
    const filter = {
      ...(userId !== undefined && { userId: userId as UserId }),
      ...(resourceId !== undefined && { resourceId }),
    };
    const page = await context.store.audit.list(filter, readPage(query, 'audit'));
    linkNext(request, reply, context, { path: '/audit', list: 'audit', next: page.next });
    return page.rows.map(presentAuditEntry);
  });
};

function readId(query: RawQuery, name: string): string | undefined {
  const id = readText(query, name);
  if (id !== undefined && !isUuid(id)) throw refused(name, 'must be an id');
  return id;
}

/** Presents an entry to admins. */
function presentAuditEntry(entry: AuditEntry): Static<typeof AuditEntrySchema> {
  const { actor, remoteAddress: address, requestId } = entry;
  return {
    id: entry.id,
    createdAt: entry.at,
    action: entry.action,
    resourceId: entry.resourceId,
    fields: [...entry.fields],
    ...(actor && { actor: { userId: actor.userId, tokenId: actor.keyId, tokenName: actor.keyName } }),
    ...(address !== undefined && { address }),
    ...(requestId !== undefined && { requestId }),
  };
}
