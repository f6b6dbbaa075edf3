/**
 * The contract of a transcoder. It takes the sequence of a source, and gives the packets of its renditions and what is missing of them.
 */
import type { WarningCode } from '#domain/warnings.ts';
import type { Packet } from '#media/packet.ts';
import type { Picture } from '#media/picture.ts';
import type { GapReason, HeldEvent, PacketEvent, RenditionId } from '#media/session-event.ts';
import type { AudioTrack, VideoTrack } from '#media/track.ts';
import type { LadderPlan } from './rendition-plan.ts';

/** The warnings that a transcoder may raise. They are codes of the catalogue, and customers see them. */
export const TRANSCODER_WARNINGS = [
  'transcode_rendition_shed', // the machine is too slow for all renditions, so this one is paused
  'transcode_rendition_restored', // the rendition is made again, from this segment on
  'transcode_frames_dropped', // the machine is still too slow: frames were skipped up to a keyframe
  'transcode_rendition_failed', // the encoder of the rendition failed, so the rendition is left out until the track changes
  'transcode_source_damaged', // packets could not be decoded
  'transcode_source_refused', // decoding the video has ended two workers, and is not tried again
] as const satisfies readonly WarningCode[];
/** A code of {@link TRANSCODER_WARNINGS}. */
export type TranscoderWarningCode = (typeof TRANSCODER_WARNINGS)[number];

/** A warning that the session should show. Each code is raised at most twice a second. */
export interface TranscoderWarning {
  readonly code: TranscoderWarningCode;
  /** The rendition that the warning is about, if it is about one. */
  readonly renditionId?: RenditionId;
}

/** Why a worker had to be replaced. */
export const RESTART_REASONS = [
  'exited', // it crashed or was killed
  'hung', // it gave no sign of life, or did not read what it was sent
  'too_much_memory',
  'protocol_broken', // it sent an invalid message
  'not_started', // the system could not start it
] as const;
/** A value of {@link RESTART_REASONS}. */
export type RestartReason = (typeof RESTART_REASONS)[number];

/** The loss of a worker. Its renditions continue at the next segment that begins with a keyframe of the source. */
export interface TranscoderRestart {
  readonly reason: RestartReason;
  /** An exit code or the name of a signal. Undefined when the worker never started. */
  readonly exit: number | string | undefined;
  /** The time until the next worker is started. */
  readonly pauseMs: number;
}

/** The receivers of results. They are called from the event loop, never from inside a method of {@link Transcoder}. None may throw. */
export interface TranscoderCallbacks {
  /** Called with a rendition's track when it is known or changes, before the packets that it describes. */
  onTrack(renditionId: RenditionId, track: VideoTrack): void;
  /**
   * Called with the next packet of a rendition, in decoding order and in the session time of the source. Its `pts` is exactly that of the
   * source frame that it shows, or between two of them, where the first is shown for so long that it is repeated. A rendition's packets
   * begin at a mark, also after packets were missing. Every packet with a mark is a keyframe, shows the first frame of the segment of that
   * mark, and carries the mark with `independent` true. Where packets are missing, their marks are missing, too.
   */
  onPacket(renditionId: RenditionId, packet: Packet): void;
  /**
   * Called when packets of a rendition, or of the audio ({@link AUDIO_RENDITION}), are missing after the newest one handed out, although
   * the source had them. Packets that the worker still holds may follow. The next packet with a mark ends the gap.
   * @param why `shed` when the rendition is paused, otherwise `lost`: the worker was replaced, the source could not be decoded, packets were
   *   dropped because the worker was too slow, or its encoder refused audio. Audio that cannot be decoded for up to a second is not
   *   reported, because it becomes silence
   */
  onMissing(renditionId: RenditionId, why: GapReason): void;
  /** Called with the AAC track of the transcoded audio, before its packets. */
  onAudioTrack(track: AudioTrack): void;
  /**
   * Called with the next packet of the audio, in session time, without a mark. Its decoded samples have exactly the times of the source's,
   * except for the first packet after some were missing.
   */
  onAudioPacket(packet: Packet): void;
  /** Called with each picture of the video. The first picture of each kind comes at once, and then one comes every few seconds. */
  onPicture(picture: Picture): void;
  /** Called when a warning is raised. That a rendition is made again is a warning of its own. */
  onWarning(warning: TranscoderWarning): void;
  /** Called when the child process is replaced. */
  onRestart(restart: TranscoderRestart): void;
}

/** For how long, in seconds of media, a video has shown nothing but black, or has not moved. */
export interface PictureState {
  readonly blackS: number;
  readonly frozenS: number;
}

/** The present state of a transcoder. */
export interface TranscoderStats {
  /** For how long the video has been black or frozen. */
  readonly picture: PictureState;
  readonly state: 'starting' | 'running' | 'pausing' | 'refused' | 'ended';
  readonly pid: number | undefined;
  readonly restarts: number;
  /** The age of the oldest unprocessed packet, in ms. */
  readonly lagMs: number;
  /** The shed renditions. A restored one is among them until the first packet of a segment that it is made of, of whatever rendition. */
  readonly shed: readonly RenditionId[];
  /** The number of source packets that were never transcoded, because there was no worker or it lagged too far. */
  readonly droppedPackets: number;
  /** The number of source packets that could not be decoded. */
  readonly decodeErrors: number;
  /** The number of blocks of audio that could not be encoded. */
  readonly encodeErrors: number;
  /** The number of bytes queued for the worker. */
  readonly queuedBytes: number;
  /** The memory of the worker, measured by the server where the system allows it, otherwise as the worker reports it. */
  readonly rssBytes: number;
  /** The CPU time of this session's workers so far, in ms. */
  readonly cpuMs: number;
}

/**
 * The transcoder of a session. Calls never wait, and never throw because of a worker: what cannot be transcoded in time is dropped. Video
 * that has ended two workers, by using too much memory or by a crash soon after the start, is no longer transcoded, and only the audio is.
 * A track of another size is tried again once. The workers of earlier transcoders of the session count, too.
 *
 * Disposing it encodes and hands out what is left, and ends the worker within two seconds, by force if necessary. The callbacks are called
 * until the disposal settles, and never after that.
 */
export interface Transcoder extends AsyncDisposable {
  /**
   * Begins or changes the video track. Everything sent before is finished first. The next packet is a keyframe.
   * @returns the renditions that are made, and the profiles that are left out, with the reasons. Both are empty for video that is refused
   */
  setTrack(track: VideoTrack): LadderPlan;
  /** Transcodes audio of this track to AAC, from the next audio packet on. */
  setAudioTrack(track: AudioTrack): void;
  /**
   * Takes the next packet of a track in session time, or the event that the last frame is held. Video packets carry their marks. The bytes
   * must not be changed. Audio is transcoded whatever happens to the video.
   */
  write(event: PacketEvent | HeldEvent): void;
  /**
   * Makes the encoders hand out what they hold, because the publisher is gone and no packet follows for now. Transcoding continues at the
   * next marked keyframe.
   */
  flush(): void;
  readonly stats: TranscoderStats;
}
