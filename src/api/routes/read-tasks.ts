/**
 * `GET /task` and `GET /task/<id>`. Tasks are not stored: the task that made a clip is derived from the clip.
 */
import type { ApiRoute } from '#api/api.ts';
import { readAssetListOptions } from '#api/list-options.ts';
import { linkNext, sendCount } from '#api/page.ts';
import { presentTask } from '#api/present-asset.ts';
import { documentedOnly, type RawQuery } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { TaskSchema } from '#api/schemas/asset.ts';
import { ADMIN_QUERY, listQuery, SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { taskIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { MillraceError } from '#domain/errors.ts';
import { type AssetId, isUuid } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';

const common = { tags: ['asset'], security: [{ apiKey: [] }] };

const all = {
  ...common,
  operationId: 'getTasks',
  summary: 'List tasks',
  description:
    'Lists the tasks that made your clips, newest first, for clients of the reference service. Clips are made at once, so every task is completed.',
  querystring: Type.Object({ ...listQuery('asset'), ...ADMIN_QUERY }),
  response: answers(200, Type.Array(ref(TaskSchema))),
};

/** Lists the tasks of the caller's clips. */
export const listTasks: ApiRoute = (api, context) => {
  const options = { schema: all, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/task', options, async (request, reply) => {
    const { assets } = context.store;
    const { scope } = request.caller;
    const list = readAssetListOptions(request.query as RawQuery, { kind: 'clip' });
    const { rows, next } = await assets.list(scope, list);
    await sendCount(request, reply, () => assets.count(scope, list.filter, list.order));
    linkNext(request, reply, context, { path: '/task', list: list.list, next });
    return rows.map(presentTask);
  });
};

const one = {
  ...common,
  operationId: 'getTask',
  summary: 'Get a task',
  description: 'The task that made a clip, for clients of the reference service.',
  params: taskIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(TaskSchema), 404),
};

/** Answers with the task of a clip of the caller. */
export const getTask: ApiRoute = (api, { authenticate, store }) => {
  api.get('/task/:id', { schema: one, onRequest: authenticate }, async (request) => {
    const { id } = request.params;
    const clip = isUuid(id) ? await store.assets.get(id as AssetId, request.caller.scope) : undefined;
    if (clip?.kind === 'clip') return presentTask(clip);
    throw new MillraceError('not_found', 'You have no task with this id; list yours with GET /task.');
  });
};
