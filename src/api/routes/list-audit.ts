/**
 * `GET /audit`.
 */
import { Type } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { adminOnly } from '#api/authenticate.ts';
import { isUuid } from '#api/id-forms.ts';
import { readPage } from '#api/list-options.ts';
import { linkNext } from '#api/page.ts';
import { presentAuditEntry } from '#api/present-audit-entry.ts';
import { documentedOnly, type Query, readText, refused } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { AuditEntrySchema } from '#api/schemas/audit-entry.ts';
import { idQuery, PAGE_QUERY } from '#api/schemas/list-query.ts';
import { ref } from '#api/schemas/ref.ts';
import { STREAM_ID, USER_ID } from '#api/schemas/sample-ids.ts';
import type { UserId } from '#domain/ids.ts';

const schema = {
  operationId: 'listAudit',
  summary: 'Read the audit log',
  description:
    'Admins only. Every change made over HTTP or on the command line, newest first, as long as the operator keeps it; what was refused is not there. Follow the `Link` header for more.',
  tags: ['audit'],
  security: [{ apiKey: [] }],
  querystring: Type.Object({
    ...PAGE_QUERY,
    userId: idQuery('Only what this user did.', USER_ID),
    resourceId: idQuery('Only what was done to this stream, API key or user.', STREAM_ID),
  }),
  response: answers(200, Type.Array(ref(AuditEntrySchema))),
};

/** Lists what was changed. */
export const listAudit: ApiRoute = (api, context) => {
  const onRequest = [context.authenticate, adminOnly];
  api.get('/audit', { schema, onRequest, validatorCompiler: documentedOnly }, async (request, reply) => {
    const query = request.query as Query;
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

function readId(query: Query, name: string): string | undefined {
  const id = readText(query, name);
  if (id !== undefined && !isUuid(id)) throw refused(name, 'must be an id');
  return id;
}
