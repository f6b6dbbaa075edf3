/**
 * The query parameters of lists, for the OpenAPI document. `list-options.ts` reads them.
 */

import { FILTER_FIELDS, type ListKind } from '#api/list-filters.ts';
import { Type } from '#lib/schema.ts';
import { API_ASSET_PHASES } from './asset.ts';
import { PLAYBACK_ID, STREAM_ID, USER_ID } from './sample-ids.ts';

const flag = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['1', 'true', '0', 'false'], description }));

/** Query parameters of every list. */
export const PAGE_QUERY = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 20,
      description:
        'The largest number of entries in the answer. It may have fewer, although a `Link` header leads to more, because an answer ends at about a megabyte.',
      examples: [100],
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description:
        'The position where the page begins. Take it from the URL in the `Link` header of the previous page.',
      examples: ['c3RyZWFtLWNyZWF0ZWRBdC1kZXNjLjE3OTUxNzUxMDczOTkuNjZlMjE2MWMtNzY3MC00ZDA1LWI3MWQtZGEyZDY5Nzk1NTZm'],
    }),
  ),
};

/** The name of the time besides `createdAt` that each list can be ordered by, and what to know of it. */
const OTHER_ORDERS = {
  stream: [
    'lastSeen',
    ' `lastSeen` changes while media is coming in, so a live stream may move from one page to another.',
  ],
  session: [
    'lastSeen',
    ' `lastSeen` changes while media is coming in, so a live session may move from one page to another.',
  ],
  asset: ['updatedAt', ''],
} as const satisfies Record<ListKind, readonly [string, string]>;

/** Query parameters of lists of streams, sessions and assets. */
export const listQuery = (kind: ListKind) => ({
  ...PAGE_QUERY,
  order: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: ['createdAt', OTHER_ORDERS[kind][0]].flatMap((order) => [`${order}-true`, `${order}-false`]),
      default: 'createdAt-true',
      description: `\`true\` lists the newest first.${OTHER_ORDERS[kind][1]}`,
    }),
  ),
  filters: Type.Optional(
    Type.String({
      description: `A JSON list of \`{"id", "value"}\`, all of which must match. Fields: ${FILTER_FIELDS[kind].map((field) => `\`${field}\``).join(', ')}. The value of the time that orders the list may also be an object of \`gt\`, \`gte\`, \`lt\` and \`lte\`. \`name\` matches names that contain the value, in any letter case. A page of such a search may have fewer entries than \`limit\`, even none, although a \`Link\` header leads to the next page.`,
      examples: ['[{"id":"createdAt","value":{"gte":1795175107399}}]'],
    }),
  ),
  count: flag('`1` adds the header `X-Total-Count`, which holds the length of the whole list.'),
});

/** The query parameter of lists of streams and sessions that selects live ones. */
export const ACTIVE_QUERY = { active: flag('`1` lists only entries for which media is coming in.') };

/** Query parameters of lists of assets, besides those of {@link listQuery}. */
export const ASSET_LIST_QUERY = {
  playbackId: Type.Optional(
    Type.String({ description: 'Lists only the asset with this playback id.', examples: [PLAYBACK_ID] }),
  ),
  phase: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      enum: [...API_ASSET_PHASES],
      description: 'Lists only assets in this phase.',
    }),
  ),
};

/** A query parameter that is an id. */
export const idQuery = (description: string, example: string) =>
  Type.Optional(Type.String({ format: 'uuid', description, examples: [example] }));

/** Query parameters of lists of objects that belong to a user. */
export const USER_QUERY = { userId: idQuery('Lists what belongs to the user with this id. For admins only.', USER_ID) };

/** Query parameters by which admins reach what belongs to other users. */
export const ADMIN_QUERY = { all: flag('`1` includes the objects of all users. For admins only.'), ...USER_QUERY };

/** Query parameters of operations on an object with an id. They name the user that it belongs to. The authentication hook reads them. */
export const SCOPE_QUERY = Type.Object(ADMIN_QUERY);

/** Query parameters of `GET /stream`. */
export const STREAM_LIST_QUERY = {
  streamsonly: flag('`1` lists streams, which is the default.'),
  sessionsonly: flag('`1` lists sessions instead, in the form of streams with `parentId`.'),
};

/** Query parameters of lists of sessions. */
export const RECORD_QUERY = { record: flag('`1` lists only sessions with `record`, `0` only sessions without it.') };

/** Query parameters of `GET /playback/<id>`. */
export const RECORDINGS_QUERY = {
  recordings: flag('`1` adds the recording of the running session of a stream.'),
};

/** Query parameters of `GET /session`. */
export const PARENT_QUERY = { parentId: idQuery('Lists only sessions of the stream with this id.', STREAM_ID) };
