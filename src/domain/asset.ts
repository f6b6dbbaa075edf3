/**
 * The asset: a recording of a session, or a clip of one. It is what the API shows and what playback ids and URLs lead to.
 */
import type { Milliseconds } from '#lib/units.ts';
import type { AssetId, MediaPath, NodeId, PlaybackId, SessionId, StreamId, UserId } from './ids.ts';
import type { PlaybackPolicy } from './playback-policy.ts';

/**
 * The phases of an asset. A recording is `recording` while its session lasts, and `storing` until everything is durable where it is to be
 * kept. A clip is `ready` at once.
 */
export const ASSET_PHASES = ['recording', 'storing', 'ready', 'failed', 'deleting', 'deleted'] as const;
/** One of {@link ASSET_PHASES}. */
export type AssetPhase = (typeof ASSET_PHASES)[number];

/** A track as the API shows it. */
export interface AssetTrack {
  readonly kind: 'video' | 'audio';
  /** The id of its rendition, as in the name of its playlist. */
  readonly rendition: string;
  /** The codec's short name, such as `h264` or `aac`. */
  readonly codec: string;
  /** The average bitrate, in bits per second. */
  readonly bitrateBps: number;
  /** Displayed size in pixels, for video. */
  readonly width?: number;
  readonly height?: number;
  /** Frames per second, for video. */
  readonly fps?: number;
  /** For audio. */
  readonly channels?: number;
  /** In Hz, for audio. */
  readonly sampleRate?: number;
}

/** How much media a recording has. Time that was left out because the publisher was away does not count. */
export interface AssetExtent {
  /** Seconds of media of the source rendition, or of the audio when there is no video. */
  readonly durationS: number;
  /** Bytes of all renditions. */
  readonly sizeBytes: number;
  /** The wall-clock times at which the first frame and the end of the last frame were shown. Undefined while nothing is recorded. */
  readonly fromMs: Milliseconds | undefined;
  readonly untilMs: Milliseconds | undefined;
  readonly tracks: readonly AssetTrack[];
}

/** An asset as stored. */
export interface Asset {
  /** For a recording, the id of its session. */
  readonly id: AssetId;
  readonly kind: 'recording' | 'clip';
  readonly userId: UserId;
  readonly streamId: StreamId;
  readonly sessionId: SessionId;
  /** Its own playback id, which is not that of the stream. */
  readonly playbackId: PlaybackId;
  /** The random folder in its URLs. For a recording it is also the folder of its files. */
  readonly path: MediaPath;
  /** The folder of the files that the asset shows. A clip shows the files of its recording. */
  readonly mediaPath: MediaPath;
  /** The playback id of the stream, recording or clip that a clip was requested from. Undefined for a recording. */
  readonly clippedFrom: string | undefined;
  /**
   * The wall-clock times of the first frame and of the end of the last frame. While a recording runs, these are the times that its node
   * reported last; they are undefined before the first report.
   */
  readonly fromMs: Milliseconds | undefined;
  readonly untilMs: Milliseconds | undefined;
  readonly name: string;
  readonly creatorId: string | undefined;
  readonly createdAt: Milliseconds;
  readonly updatedAt: Milliseconds;
  readonly phase: AssetPhase;
  /** Why it is `failed`, as a sentence. */
  readonly failure: string | undefined;
  /** Seconds of media; 0 until known. */
  readonly durationS: number;
  /** Bytes; 0 until known. A clip has none of its own and shows the size of its MP4. */
  readonly sizeBytes: number;
  readonly tracks: readonly AssetTrack[];
  /** The node whose disk has what is not in the object store. */
  readonly nodeId: NodeId;
  /** Whether everything is in the object store. Always false without one. */
  readonly isStored: boolean;
  /** Undefined: the policy of the stream applies. */
  readonly playbackPolicy: PlaybackPolicy | undefined;
}
