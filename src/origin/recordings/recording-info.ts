/**
 * Serves `/hls/<playback id>/recording.json`, which describes the recording that belongs to a playback id. From it the player page learns,
 * without an API key, that it can seek back, and where the recording is.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AssetTrack } from '#domain/asset.ts';
import { isPlaybackId, type MediaPath } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import { sendAnswer } from '#origin/answer.ts';
import type { OriginContext } from '#origin/origin-context.ts';
import { isOwners, isOwnersOnly, isRunning } from './recording-rights.ts';
import type { RecordingRoutesOptions } from './recording-routes.ts';

/** The answer. Players must ignore fields that they do not know. */
interface RecordingInfo {
  /** `stream`: the playback id is that of a stream whose newest session is recorded. `asset`: it is that of a recording or clip. */
  readonly of: 'stream' | 'asset';
  /** The URL of its files, relative to that of this answer, with a slash at the end. */
  readonly folder: string;
  readonly name: string;
  /** Whether it may still grow. */
  readonly running: boolean;
  /** The wall-clock times of its first frame and of its end so far, in milliseconds. Null until there is a first frame. */
  readonly from: Milliseconds | null;
  readonly to: Milliseconds | null;
  /** Seconds of media so far. */
  readonly duration: number;
  /** The files that can be downloaded. */
  readonly downloads: readonly { readonly file: string; readonly width?: number; readonly height?: number }[];
}

/**
 * Adds the route of `recording.json`. The answer is 204 when there is no recording that the viewer may watch now. This is not an error,
 * because player pages ask for every stream.
 */
export function recordingInfoRoute(
  app: FastifyInstance,
  context: OriginContext,
  { recordings, library, dvr, isOwner }: RecordingRoutesOptions,
): void {
  app.get(
    '/hls/:playbackId/recording.json',
    async (request: FastifyRequest<{ Params: { playbackId: string } }>, reply) => {
      const { playbackId } = request.params;
      const found = await recordings.findByPlaybackId(playbackId, request.ip);
      const shared = context.sharedAs(reply, `/hls/${playbackId}/recording.json`, context.cacheControl('playlist'));
      if (found === undefined) return nothing(reply, shared);
      const { asset, recording, subject, origin, isLeft } = found;
      const admission = await context.gate.admitTo(request, subject);
      const running = isRunning(found);
      const isForOwner = isOwnersOnly(found, { dvr });
      const unshared = context.cacheControl('restricted');
      if (isForOwner && !(await isOwners(request, found, context, { isOwner }))) return nothing(reply, unshared);
      // The store gets the extent only from time to time, and once more when the recording is ready. The files of this node always have it.
      // Those of another node that is gone do not, and looking for them would make the answer depend on the bucket.
      const mayBeLonger = running || (asset.kind === 'recording' && recording.phase === 'storing' && !isLeft);
      const opened =
        mayBeLonger && origin === undefined ? await library.open(asset.path, false, request.ip) : undefined;
      const extent = opened?.extent ?? asset;
      const info: RecordingInfo = {
        of: isPlaybackId(playbackId) && playbackId !== asset.playbackId ? 'stream' : 'asset',
        folder: folderOf(asset.path),
        name: asset.name,
        running,
        from: extent.fromMs ?? null,
        to: extent.untilMs ?? null,
        duration: Math.round(extent.durationS * 1000) / 1000,
        downloads: downloadsOf(extent.tracks),
      };
      const body = Buffer.from(JSON.stringify(info));
      const headers = {
        'content-type': 'application/json',
        'content-length': body.length,
        'cache-control': admission.restricted || isForOwner ? unshared : shared,
      };
      return sendAnswer(reply, 200, headers, [body]);
    },
  );
}

/** Answers that there is nothing to watch for now. */
const nothing = (reply: FastifyReply, cacheControl: string): FastifyReply =>
  sendAnswer(reply, 204, { 'cache-control': cacheControl }, []);

/** The URL of the folder of a recording, relative to that of the answer. */
const folderOf = (path: MediaPath): string => `../../recordings/${path}/`;

function downloadsOf(tracks: readonly AssetTrack[]): RecordingInfo['downloads'] {
  return tracks.map(({ kind, rendition, width, height }) =>
    kind === 'audio'
      ? { file: `${rendition}.m4a` }
      : { file: `${rendition}.mp4`, ...(width === undefined || height === undefined ? {} : { width, height }) },
  );
}
