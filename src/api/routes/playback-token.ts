/**
 * `GET /stream/<id>/playback-token` and `GET /asset/<id>/playback-token`.
 */
import type { ApiRoute, RouteContext } from '#api/api.ts';
import type { Caller } from '#api/authenticate.ts';
import { findAsset } from '#api/find-asset.ts';
import { findStream } from '#api/find-stream.ts';
import { answers } from '#api/schemas/answers.ts';
import { SCOPE_QUERY } from '#api/schemas/list-query.ts';
import { OwnerTokenSchema } from '#api/schemas/owner-token.ts';
import { assetIdParams, streamIdParams } from '#api/schemas/params.ts';
import { ref } from '#api/schemas/ref.ts';
import type { ApiKeyId, PlaybackId } from '#domain/ids.ts';
import { OWNER_TOKEN_LIFE_MS } from '#domain/owner-token.ts';
import { ms } from '#lib/units.ts';

const HOW =
  'The token is valid for 12 hours, under every playback policy, and no longer than the API key or browser session that asked for it. Send it where viewers send a playback token: as `?jwt=`, as the header `Livepeer-Jwt`, or as `#jwt=` at the address of the player page. Whoever has it may watch, so do not give it to viewers.';

const common = {
  security: [{ apiKey: [] }],
  querystring: SCOPE_QUERY,
  response: answers(200, ref(OwnerTokenSchema), 404),
};

const ofStream = {
  ...common,
  operationId: 'getStreamPlaybackToken',
  summary: 'Get a token to watch your own stream',
  description: `Makes a token for the stream and its recordings. ${HOW}`,
  tags: ['stream'],
  params: streamIdParams,
};

/** Answers with a token for a stream of the caller. */
export const getStreamPlaybackToken: ApiRoute = (api, context) => {
  api.get(
    '/stream/:id/playback-token',
    { schema: ofStream, onRequest: context.authenticate },
    async ({ caller, params }) => {
      const { playbackId } = await findStream(context, params.id, caller.scope);
      return tokenFor(context, caller, playbackId);
    },
  );
};

const ofAsset = {
  ...common,
  operationId: 'getAssetPlaybackToken',
  summary: 'Get a token to watch your own recording or clip',
  description: `Makes a token for the recording or clip. ${HOW}`,
  tags: ['asset'],
  params: assetIdParams,
};

/** Answers with a token for a recording or clip of the caller. */
export const getAssetPlaybackToken: ApiRoute = (api, context) => {
  api.get(
    '/asset/:id/playback-token',
    { schema: ofAsset, onRequest: context.authenticate },
    async ({ caller, params }) => {
      const { playbackId } = await findAsset(context, params.id, caller.scope);
      return tokenFor(context, caller, playbackId);
    },
  );
};

function tokenFor({ ownerTokens }: RouteContext, caller: Caller, playbackId: PlaybackId) {
  const expiresAt = ms(caller.at + OWNER_TOKEN_LIFE_MS);
  // A session that was made with a key ends with the key, but not the other way round.
  const credential =
    caller.browserSessionId === undefined
      ? { keyId: caller.keyId as ApiKeyId }
      : { sessionId: caller.browserSessionId };
  return { token: ownerTokens.issue(playbackId, { credential, expiresAt }).reveal(), expiresAt };
}
