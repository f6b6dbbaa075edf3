/**
 * `PATCH /asset/<id>` and `DELETE /asset/<id>`.
 */
import { absentBodyIsEmpty } from '#api/absent-body.ts';
import type { ApiRoute } from '#api/api.ts';
import { findAsset, unknownAsset } from '#api/find-asset.ts';
import { mustHaveWebhook } from '#api/playback-policy-rules.ts';
import { asOfNow, presentAsset } from '#api/present-asset.ts';
import { NO_CONTENT, receiptOf } from '#api/receipt.ts';
import { answers, NOTHING } from '#api/schemas/answers.ts';
import { AssetChangeSchema, AssetSchema } from '#api/schemas/asset.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { assetIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { storedFields } from '#api/stream-rules.ts';
import { MillraceError } from '#domain/errors.ts';
import { type AssetId, isUuid } from '#domain/ids.ts';

const common = {
  tags: ['asset'],
  security: [{ apiKey: [] }],
  params: assetIdParams,
  querystring: SCOPE_QUERY,
};

const update = {
  ...common,
  operationId: 'updateAsset',
  summary: 'Change a recording or clip',
  description:
    'Fields that are left out stay as they are. A playback policy is replaced as a whole; with null, the policy of the stream applies again. The answer is the asset, as clients of the reference service expect.',
  body: ref(AssetChangeSchema),
  response: answers(200, ref(AssetSchema), 404, 422),
};

/** Changes the fields that are sent. */
export const updateAsset: ApiRoute = (api, context) => {
  const { store, publicUrl, recordings, settings } = context;
  const hooks = { onRequest: context.authenticate, preValidation: absentBodyIsEmpty };
  api.patch('/asset/:id', { schema: update, ...hooks }, async (request) => {
    const { body, caller } = request;
    const asset = await findAsset(context, request.params.id, caller.scope);
    const fields = {
      ...(body.name !== undefined && { name: body.name }),
      ...storedFields(body, settings.defaultProfiles),
    };
    if (Object.keys(fields).length === 0) return presentAsset(asOfNow(asset, recordings), publicUrl(request));
    await mustHaveWebhook(body.playbackPolicy, asset.userId, store);
    const changed = { ...asset, ...fields, updatedAt: caller.at };
    const answer = presentAsset(asOfNow(changed, recordings), publicUrl(request));
    const change = { action: 'asset.updated', resourceId: asset.id, fields: Object.keys(fields) } as const;
    const receipt = receiptOf(request, change, { status: 200, body: answer });
    if (!(await store.assets.change(asset.id, caller.scope, fields, receipt))) throw unknownAsset();
    return answer;
  });
};

const remove = {
  ...common,
  operationId: 'deleteAsset',
  summary: 'Delete a recording or clip',
  description:
    'The recording or clip cannot be watched any more, usually within a second. The bytes of a recording are deleted within minutes, except those that its clips need, which stay until the clips are deleted, too. A recording that still runs cannot be deleted: the answer is 409.',
  response: answers(204, NOTHING, 404, 409),
};

/** Deletes an asset. */
export const deleteAsset: ApiRoute = (api, { authenticate, store }) => {
  api.delete('/asset/:id', { schema: remove, onRequest: authenticate }, async (request, reply) => {
    const id = request.params.id as AssetId;
    if (!isUuid(id)) throw unknownAsset();
    const receipt = receiptOf(request, { action: 'asset.deleted', resourceId: id }, NO_CONTENT);
    const isDeleted = await store.assets.delete(id, request.caller.scope, receipt).catch((error: unknown) => {
      if (!(error instanceof MillraceError) || error.code !== 'conflict') throw error;
      throw new MillraceError(
        'conflict',
        'The recording still runs; end its session first, for example with DELETE /stream/<id>/terminate.',
        { cause: error },
      );
    });
    if (!isDeleted) throw unknownAsset();
    return reply.code(204).send();
  });
};
