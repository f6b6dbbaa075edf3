/**
 * Presents an asset to its owner. Only the fields named in this file are shown.
 */
import type { Static } from 'typebox';
import type { Asset, AssetExtent, AssetPhase, AssetTrack } from '#domain/asset.ts';
import type { MediaPath } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import { approximateBytes, audioOf, bestVideo, downloadUrl, recordingPlaylistUrl } from './recording-urls.ts';
import type { AssetSchema, TaskSchema } from './schemas/asset.ts';
import type { PlaybackPolicySchema } from './schemas/playback-policy.ts';

/** A span of wall-clock time of a recording's media. */
interface ShownSpan {
  readonly fromMs: Milliseconds;
  readonly untilMs: Milliseconds;
}

/** Tells how much is recorded so far of a running recording, and how much of a span is recorded. */
export interface RecordedExtents {
  /**
   * The extent of a recording that runs in this process, which is newer than that of its asset. Undefined for any other recording. Reads no
   * file.
   */
  extentOf(path: MediaPath): AssetExtent | undefined;
  /**
   * Asks another process that writes a recording for its extent. Undefined when the recording does not run in another process, and when
   * that process gives no answer within seconds.
   */
  extentElsewhere(recording: Asset): Promise<AssetExtent | undefined>;
  /**
   * Seconds of media in a span of the recording that an asset shows, pauses excluded. Reads the index of the recording. Undefined when this
   * process cannot do that within seconds.
   */
  secondsIn(asset: Asset, span: ShownSpan): Promise<number | undefined>;
}

/** The phases of the API, which are those of the reference service. */
const PHASES = {
  recording: 'waiting',
  storing: 'processing',
  ready: 'ready',
  failed: 'failed',
  deleting: 'deleting',
  deleted: 'deleted',
} as const satisfies Record<AssetPhase, string>;

/** A phase in the API. */
export type ApiAssetPhase = (typeof PHASES)[AssetPhase];

/** The phase that has this name in the API. Undefined for any other value. */
export const phaseOfApi = (name: unknown): AssetPhase | undefined =>
  (Object.keys(PHASES) as AssetPhase[]).find((phase) => PHASES[phase] === name);

/** An asset with the extent that is recorded by now. A running recording is longer than the stored asset says. */
export function asOfNow(asset: Asset, running: RecordedExtents): Asset {
  if (asset.phase !== 'recording' && asset.phase !== 'storing') return asset;
  const extent = running.extentOf(asset.mediaPath);
  return extent === undefined ? asset : { ...asset, ...extent };
}

/** Presents an asset. @param publicUrl the origin of its URLs */
export function presentAsset(asset: Asset, publicUrl: string): Static<typeof AssetSchema> {
  const { creatorId, playbackPolicy, failure, phase, tracks, durationS, fromMs, untilMs } = asset;
  const shown = [bestVideo(tracks), audioOf(tracks)].filter((track) => track !== undefined);
  const size = asset.kind === 'recording' ? asset.sizeBytes : approximateBytes(shown, durationS);
  return {
    id: asset.id,
    playbackId: asset.playbackId,
    userId: asset.userId,
    name: asset.name,
    createdAt: asset.createdAt,
    type: bestVideo(tracks) === undefined && tracks.length > 0 ? 'audio' : 'video',
    ...(size > 0 && { size }),
    source: sourceOf(asset),
    status: {
      phase: PHASES[phase],
      updatedAt: asset.updatedAt,
      ...(failure !== undefined && { errorMessage: failure }),
    },
    ...(phase !== 'failed' && {
      playbackUrl: recordingPlaylistUrl(publicUrl, asset),
      downloadUrl: downloadUrl(publicUrl, asset),
    }),
    ...(creatorId !== undefined && { creatorId: { type: 'unverified', value: creatorId } }),
    ...(playbackPolicy && { playbackPolicy: playbackPolicy as Static<typeof PlaybackPolicySchema> }),
    ...(fromMs !== undefined && { startTime: Math.floor(fromMs) }),
    ...(untilMs !== undefined && { endTime: Math.ceil(untilMs) }),
    ...(tracks.length > 0 && {
      videoSpec: {
        format: 'mp4',
        duration: rounded(durationS),
        bitrate: shown.reduce((bps, { bitrateBps }) => bps + Math.round(bitrateBps), 0),
        tracks: shown.map(presentTrack),
      },
    }),
  };
}

/** Presents the task that made a clip, as the reference service does. A clip is ready at once, so its task is always completed. */
export function presentTask(clip: Asset): Static<typeof TaskSchema> {
  return {
    id: clip.id,
    type: 'clip',
    createdAt: clip.createdAt,
    inputAssetId: clip.sessionId,
    outputAssetId: clip.id,
    requesterId: clip.userId,
    status: { phase: 'completed', updatedAt: clip.createdAt, progress: 1 },
  };
}

function sourceOf({ kind, sessionId, clippedFrom, userId }: Asset): Static<typeof AssetSchema>['source'] {
  if (kind === 'recording') return { type: 'recording', sessionId };
  return {
    type: 'clip',
    sessionId,
    assetId: sessionId,
    requesterId: userId,
    ...(clippedFrom !== undefined && { playbackId: clippedFrom }),
  };
}

function presentTrack({ kind, codec, bitrateBps, width, height, fps, channels, sampleRate }: AssetTrack) {
  return {
    type: kind,
    codec,
    bitrate: Math.round(bitrateBps),
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(fps !== undefined && { fps: rounded(fps) }),
    ...(channels !== undefined && { channels }),
    ...(sampleRate !== undefined && { sampleRate }),
  };
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
