/**
 * `GET /asset`, `GET /asset/<id>`, and the lists of clips.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRoute, RouteContext } from '#api/api.ts';
import type { Caller } from '#api/authenticate.ts';
import { findAsset } from '#api/find-asset.ts';
import { streamByPlaybackId } from '#api/find-stream.ts';
import { readAssetListOptions } from '#api/list-options.ts';
import { linkNext, sendCount } from '#api/page.ts';
import { asOfNow, presentAsset } from '#api/present-asset.ts';
import { documentedOnly, type RawQuery } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { AssetSchema } from '#api/schemas/asset.ts';
import { ADMIN_QUERY, ASSET_LIST_QUERY, listQuery, SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { assetIdParams, clippedIdParams, sessionIdParams, streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import { MillraceError } from '#domain/errors.ts';
import { isUuid, type SessionId, type StreamId } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';
import type { AssetFilter } from '#store/asset-store.ts';

const HOW = 'The list is newest first. The `Link` header leads to the next page.';

const common = { tags: ['asset'], security: [{ apiKey: [] }] };
const listed = {
  ...common,
  querystring: Type.Object({ ...listQuery('asset'), ...ASSET_LIST_QUERY, ...ADMIN_QUERY }),
};

const all = {
  ...listed,
  operationId: 'getAssets',
  summary: 'List recordings and clips',
  description: `Lists your assets, those of deleted streams included. ${HOW}`,
  response: answers(200, Type.Array(ref(AssetSchema))),
};

/** Lists the caller's assets. */
export const listAssets: ApiRoute = (api, context) => {
  const options = { schema: all, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/asset', options, (request, reply) => answer(context, request, reply, '/asset', {}));
};

const one = {
  ...common,
  operationId: 'getAsset',
  summary: 'Get a recording or clip',
  description:
    'A recording has the id of its session. It can be read, watched and downloaded from its first seconds on, under the same URLs while it runs and afterwards.',
  params: assetIdParams,
  querystring: SCOPE_QUERY,
  response: answers(200, ref(AssetSchema), 404),
};

/** Answers with an asset of the caller. */
export const getAsset: ApiRoute = (api, context) => {
  api.get('/asset/:id', { schema: one, onRequest: context.authenticate }, async (request) => {
    const asset = await findAsset(context, request.params.id, request.caller.scope);
    return presentAsset(asOfNow(asset, context.recordings), context.publicUrl(request));
  });
};

const clips = (what: string) => ({
  ...listed,
  summary: `List the clips of a ${what}`,
  description: `Lists the clips that were made from the ${what}. ${HOW}`,
  response: answers(200, Type.Array(ref(AssetSchema)), 404),
});

const ofAsset = { ...clips('recording or clip'), operationId: 'getAssetClips', params: assetIdParams };

/** Lists the clips of a recording, or the clips that were requested from a clip. */
export const listAssetClips: ApiRoute = (api, context) => {
  const options = { schema: ofAsset, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/asset/:id/clips', options, async (request, reply) => {
    const { id } = request.params;
    return await answer(context, request, reply, `/asset/${id}/clips`, await clipsOfAsset(context, id, request.caller));
  });
};

const ofSession = { ...clips('session'), operationId: 'getSessionClips', params: sessionIdParams };

/** Lists the clips of a session. */
export const listSessionClips: ApiRoute = (api, context) => {
  const options = { schema: ofSession, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/session/:id/clips', options, async (request, reply) => {
    const { id } = request.params;
    const filter = await clipsOfSession(context, id, request.caller);
    if (filter === undefined) {
      throw new MillraceError('not_found', 'You have no session with this id; list yours with GET /session.');
    }
    return await answer(context, request, reply, `/session/${id}/clips`, filter);
  });
};

const ofStream = { ...clips('stream'), operationId: 'getClips', params: streamIdParams };

/** Lists the clips of a stream that has not been deleted, by its id or playback id. */
export const listStreamClips: ApiRoute = (api, context) => {
  const options = { schema: ofStream, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/stream/:id/clips', options, async (request, reply) => {
    const { id } = request.params;
    const filter = await clipsOfStream(context, id, request.caller);
    if (filter === undefined) {
      throw new MillraceError(
        'not_found',
        'You have no stream with this id or playback id; list yours with GET /stream.',
      );
    }
    return await answer(context, request, reply, `/stream/${id}/clips`, filter);
  });
};

const ofAny = { ...clips('session, stream or recording'), operationId: 'getClipsOf', params: clippedIdParams };

/** Lists the clips of a session, a stream or an asset. */
export const listClips: ApiRoute = (api, context) => {
  const options = { schema: ofAny, onRequest: context.authenticate, validatorCompiler: documentedOnly };
  api.get('/clip/:id', options, async (request, reply) => {
    const { id } = request.params;
    const { caller } = request;
    const filter =
      (await clipsOfSession(context, id, caller)) ??
      (await clipsOfStream(context, id, caller)) ??
      (await clipsOfAsset(context, id, caller));
    return await answer(context, request, reply, `/clip/${id}`, filter);
  });
};

type Records = Pick<RouteContext, 'store'>;

async function clipsOfSession({ store }: Records, id: string, { scope }: Caller): Promise<AssetFilter | undefined> {
  const session = isUuid(id) ? await store.sessions.get(id as SessionId, scope) : undefined;
  return session && { kind: 'clip', sessionId: session.id };
}

async function clipsOfStream({ store }: Records, id: string, caller: Caller): Promise<AssetFilter | undefined> {
  const stream = isUuid(id)
    ? await store.streams.get(id as StreamId, caller.scope)
    : await streamByPlaybackId({ store }, id, caller);
  return stream && { kind: 'clip', streamId: stream.id };
}

/** The filter for the clips of an asset. @throws {MillraceError} `not_found` */
async function clipsOfAsset(records: Records, id: string, { scope }: Caller): Promise<AssetFilter> {
  const { kind, sessionId, playbackId } = await findAsset(records, id, scope);
  return kind === 'recording' ? { kind: 'clip', sessionId } : { kind: 'clip', clippedFrom: playbackId };
}

async function answer(
  context: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
  filter: AssetFilter,
) {
  const { store, recordings, publicUrl } = context;
  const { scope } = request.caller;
  const options = readAssetListOptions(request.query as RawQuery, filter);
  const { rows, next } = await store.assets.list(scope, options);
  await sendCount(request, reply, () => store.assets.count(scope, options.filter, options.order));
  linkNext(request, reply, context, { path, list: options.list, next });
  const origin = publicUrl(request);
  return rows.map((asset) => presentAsset(asOfNow(asset, recordings), origin));
}
