/**
 * `GET /playback/<playbackId>`.
 */
import type { ApiRoute, RouteContext } from '#api/api.ts';
import { asOfNow } from '#api/present-asset.ts';
import { presentAssetPlayback, presentDvr, presentStreamPlayback } from '#api/present-playback.ts';
import { documentedOnly, type RawQuery, readFlag } from '#api/query.ts';
import { answers } from '#api/schemas/answers.ts';
import { RECORDINGS_QUERY } from '#api/schemas/list-query.ts';
import { playableIdParams } from '#api/schemas/params.ts';
import { PlaybackSchema } from '#api/schemas/playback.ts';
import { ref } from '#api/schemas/ref.ts';
import type { Asset } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import { type AssetId, isUuid, type PlaybackId } from '#domain/ids.ts';
import { Type } from '#lib/schema.ts';

const schema = {
  operationId: 'getPlaybackInfo',
  summary: 'Find out how to play a stream, recording or clip',
  description:
    'Needs no API key. The HLS URL of a stream stays the same while the stream is offline, so that a player can wait for it, and that of a recording is the same while it runs and afterwards. A thumbnail of a stream is listed only while there is one. The URLs are listed whatever the playback policy is; a viewer without the right to watch is refused when it asks for them.',
  tags: ['playback'],
  security: [],
  params: playableIdParams,
  querystring: Type.Object(RECORDINGS_QUERY),
  response: answers(200, ref(PlaybackSchema), 400, 404, 503),
};

/** Describes how to play a stream, recording or clip, unless the stream or its user is suspended. Anybody may ask. */
export const getPlayback: ApiRoute = (api, context) => {
  const { live, publicUrl, recordings } = context;
  const options = { schema, validatorCompiler: documentedOnly };
  api.get('/playback/:playbackId', options, async (request) => {
    const { playbackId } = request.params;
    const withRecording = readFlag(request.query as RawQuery, 'recordings') ?? false;
    const found = await context.findPlayable(playbackId, request.ip);
    if (found === undefined || found.isSuspended) throw notFound();
    const origin = publicUrl(request);
    if (found.kind === 'stream') {
      const { stream } = found;
      const described = presentStreamPlayback(stream, live, origin);
      if (!withRecording) return described;
      const recording = context.isSeekable ? await runningRecording(context, stream.playbackId) : undefined;
      const dvrPlayback = presentDvr(recording, origin);
      return { ...described, meta: { ...described.meta, dvrPlayback } };
    }
    const { asset, stream } = found;
    if (asset.phase === 'failed') throw notFound();
    const policy = asset.playbackPolicy ?? stream?.playbackPolicy;
    const type = isUuid(playbackId) && asset.kind === 'recording' ? 'recording' : 'vod';
    return presentAssetPlayback(asOfNow(asset, recordings), type, policy, origin);
  });
};

const notFound = (): MillraceError =>
  new MillraceError('not_found', 'Nothing can be played with this playback id; check it.');

/** The recording of the running session of a stream. */
async function runningRecording({ store }: RouteContext, playbackId: PlaybackId): Promise<Asset | undefined> {
  const newest = await store.sessions.newest(playbackId);
  if (newest === undefined || newest.session.phase === 'ended') return undefined;
  return await store.assets.byPlaybackId(newest.session.id as string as AssetId);
}
