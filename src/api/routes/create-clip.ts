/**
 * `POST /clip`.
 */
import type { ApiRoute } from '#api/api.ts';
import { findClipOrigin } from '#api/clip-origin.ts';
import { type ClipSpan, clipSpan } from '#api/clip-span.ts';
import { presentAsset, type RecordedExtents } from '#api/present-asset.ts';
import { receiptOf } from '#api/receipt.ts';
import { approximateBytes, audioOf, bestVideo } from '#api/recording-urls.ts';
import { answers } from '#api/schemas/answers.ts';
import { CreatedClipSchema, NewClipSchema } from '#api/schemas/asset.ts';
import { ref } from '#api/schemas/ref.ts';
import { refuseOtherScope } from '#api/scope.ts';
import type { Asset } from '#domain/asset.ts';
import { MillraceError } from '#domain/errors.ts';
import { newClipId, newMediaPath, newPlaybackId, type PlaybackId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';

const schema = {
  operationId: 'createClip',
  summary: 'Make a clip',
  description:
    'A clip shows a span of a recording, exact to the frame. It is ready at once, also while the stream is live, because nothing is encoded or copied. Times are those of the media, as players show them (`EXT-X-PROGRAM-DATE-TIME`). Without `endTime` the clip ends now. A time that is not recorded is refused with the error `clip_out_of_range`, which says what is recorded. The answer is 200, as clients of the reference service expect.',
  tags: ['asset'],
  security: [{ apiKey: [] }],
  body: ref(NewClipSchema),
  response: answers(200, ref(CreatedClipSchema), 404, 422),
};

/** The most seconds by which the length of a recording without a pause differs from its span of wall-clock time. */
const NO_PAUSE_S = 1;

/** Makes a clip that belongs to the caller. */
export const createClip: ApiRoute = (api, context) => {
  const { store, clock, publicUrl, recordings } = context;
  api.post('/clip', { schema, onRequest: context.authenticate }, async (request) => {
    const { caller, body } = request;
    refuseOtherScope(
      caller,
      'a clip belongs to the user of the API key; create a key of that user with POST /api-token',
    );
    const now = clock.now();
    const startTime = Math.round(body.startTime);
    const endTime = body.endTime === undefined ? undefined : Math.round(body.endTime);
    const wanted = {
      playbackId: body.playbackId,
      sessionId: body.sessionId,
      startTime,
      endTime: ms(Math.min(endTime ?? now, now)),
    };
    const origin = await findClipOrigin(context, wanted, caller);
    const isGrowing = origin.kind === 'recording' && origin.phase !== 'ready';
    const span = clipSpan({ startTime, endTime }, { ...origin, isGrowing }, now);
    const durationS = await secondsOf(origin, span, recordings);
    if (durationS === 0) {
      throw new MillraceError(
        'clip_out_of_range',
        'Nothing was recorded between startTime and endTime, because the publisher was disconnected. Choose times at which it sent video or audio.',
      );
    }
    const tracks = [bestVideo(origin.tracks), audioOf(origin.tracks)];
    const clip: Asset = {
      ...origin,
      ...span,
      id: newClipId(),
      kind: 'clip',
      playbackId: newPlaybackId(),
      path: newMediaPath(),
      clippedFrom: body.playbackId as PlaybackId,
      name: body.name ?? `clip-${body.playbackId}`,
      createdAt: now,
      updatedAt: now,
      phase: 'ready',
      durationS,
      sizeBytes: approximateBytes(tracks, durationS),
    };
    const answer = { task: { id: clip.id }, asset: presentAsset(clip, publicUrl(request)) };
    const receipt = receiptOf(request, { action: 'clip.created', resourceId: clip.id }, { status: 200, body: answer });
    await store.assets.createClip(clip, origin.id, receipt, { atMost: caller.quotas.clips });
    return answer;
  });
};

/** Seconds of media in a clip. Pauses are included only when the index of the recording cannot be read now. */
async function secondsOf(origin: Asset, span: ClipSpan, recordings: RecordedExtents): Promise<number> {
  const { fromMs, untilMs, durationS } = origin;
  const spanS = (span.untilMs - span.fromMs) / 1000;
  const hasPause = fromMs !== undefined && untilMs !== undefined && untilMs - fromMs > (durationS + NO_PAUSE_S) * 1000;
  const seconds = hasPause ? await recordings.secondsIn(origin, span) : undefined;
  return seconds === undefined ? spanS : Math.round(seconds * 1000) / 1000;
}
