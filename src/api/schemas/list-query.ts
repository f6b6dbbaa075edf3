/**
 * The query parameters of lists, for the document; `list-options.ts` reads them.
 */

import { FILTER_FIELDS, type ListKind } from '#api/list-filters.ts';
import { Type } from '#lib/schema.ts';
import { STREAM_ID, USER_ID } from './sample-ids.ts';

const flag = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['1', 'true', '0', 'false'], description }));

/** Of every list. */
export const PAGE_QUERY = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 20,
      description: 'The largest number of entries in the answer.',
      examples: [100],
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: 'Where the page begins. The URL in the `Link` header of the previous page has it.',
      examples: ['c3RyZWFtLWNyZWF0ZWRBdC1kZXNjLjE3OTUxNzUxMDczOTkuNjZlMjE2MWMtNzY3MC00ZDA1LWI3MWQtZGEyZDY5Nzk1NTZm'],
    }),
  ),
};

/** Of lists of streams and sessions. */
export const listQuery = (kind: ListKind) => ({
  ...PAGE_QUERY,
  order: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: ['createdAt-true', 'createdAt-false', 'lastSeen-true', 'lastSeen-false'],
      default: 'createdAt-true',
      description:
        '`true` lists the newest first. `lastSeen` changes while media is coming in, so a live stream may move from one page to another.',
    }),
  ),
  active: flag('`1` lists only those for which media is coming in.'),
  filters: Type.Optional(
    Type.String({
      description: `A JSON list of \`{"id", "value"}\`, all of which must be met. Fields: ${FILTER_FIELDS[kind].map((field) => `\`${field}\``).join(', ')}. The time the list is ordered by also takes \`{"gt","gte","lt","lte"}\`. \`name\` is a part of the name, in any letter case; a page of such a search may have fewer entries than \`limit\`, even none, although a \`Link\` header follows.`,
      examples: ['[{"id":"createdAt","value":{"gte":1795175107399}}]'],
    }),
  ),
  count: flag('`1` adds the length of the whole list, in the header `X-Total-Count`.'),
});

/** An id of something else to go by. */
export const idQuery = (description: string, example: string) =>
  Type.Optional(Type.String({ format: 'uuid', description, examples: [example] }));

/** Of lists of what users have. */
export const USER_QUERY = { userId: idQuery("Another user's: admins only.", USER_ID) };

/** Of what admins may see more of. */
export const ADMIN_QUERY = { all: flag("Admins only, `1`: everybody's."), ...USER_QUERY };

/** Of operations on what has an id: whose it is. The hook that authenticates reads it. */
export const SCOPE_QUERY = Type.Object(ADMIN_QUERY);

/** Of `GET /stream`. */
export const STREAM_LIST_QUERY = {
  streamsonly: flag('`1`: streams, which is what is listed anyway.'),
  sessionsonly: flag('`1`: sessions instead, in the form of streams with `parentId`.'),
};

/** Of lists of sessions. */
export const RECORD_QUERY = { record: flag('`1`: only sessions that were to be recorded, `0`: only others.') };

/** Of `GET /session`. */
export const PARENT_QUERY = { parentId: idQuery('Lists only sessions of the stream with this id.', STREAM_ID) };
