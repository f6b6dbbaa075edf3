/**
 * The contract of a transcoder: the sequence of a source in, the packets of its renditions out, and what is missing of them.
 */
import type { WarningCode } from '#domain/warnings.ts';
import type { Packet } from '#media/packet.ts';
import type { GapReason, HeldEvent, PacketEvent, RenditionId } from '#media/session-event.ts';
import type { AudioTrack, VideoTrack } from '#media/track.ts';
import type { LadderPlan } from './rendition-plan.ts';

/** What a transcoder may warn of: codes of the catalogue of warnings, shown to customers. */
export const TRANSCODER_WARNINGS = [
  'transcode_rendition_shed', // the machine is too slow for all renditions: this one is not made for now
  'transcode_rendition_restored', // it is made again, from the next segment on
  'transcode_frames_dropped', // too slow even so: skipped to a keyframe
  'transcode_source_damaged', // packets could not be decoded
  'transcode_source_refused', // decoding the video has ended two workers: it is not tried again
] as const satisfies readonly WarningCode[];
/** One of {@link TRANSCODER_WARNINGS}. */
export type TranscoderWarningCode = (typeof TRANSCODER_WARNINGS)[number];

/** Something the session should show. Each is raised when it begins, and at most once a second. */
export interface TranscoderWarning {
  readonly code: TranscoderWarningCode;
  /** Set where it concerns one rendition. */
  readonly renditionId?: RenditionId;
}

/** Why a worker had to be replaced. */
export const RESTART_REASONS = [
  'exited', // it crashed, or something killed it
  'hung', // it gave no sign of life
  'too_much_memory',
  'protocol_broken', // it sent what it must not
  'not_started', // the system would not start it
] as const;
/** One of {@link RESTART_REASONS}. */
export type RestartReason = (typeof RESTART_REASONS)[number];

/** A worker was lost. Its renditions go on at the next segment that begins with a keyframe of the source. */
export interface TranscoderRestart {
  readonly reason: RestartReason;
  /** How it ended: an exit code or a signal's name; undefined when it never began. */
  readonly exit: number | string | undefined;
  /** Until the next one is started. */
  readonly pauseMs: number;
}

/** Where results go. Called from the event loop, never from inside a method of {@link Transcoder}. None may throw. */
export interface TranscoderCallbacks {
  /** A rendition's track is known, or it changed; before the packets it describes. */
  onTrack(renditionId: RenditionId, track: VideoTrack): void;
  /**
   * The next packet of a rendition, in decoding order, in the same session time as the source: its `pts` is to the tick that of the
   * source frame it shows, or between two of them, where the first is shown for so long that it is repeated. A rendition's packets begin at
   * a mark, also after packets were missing. Every packet with a mark is a keyframe, shows what the segment of that mark shows first, and
   * carries the mark, `independent` always true. Marks are missing where packets are.
   */
  onPacket(renditionId: RenditionId, packet: Packet): void;
  /**
   * Packets of a rendition, or of the audio ({@link AUDIO_RENDITION}), are missing after the newest one handed out, although the source
   * had them. What is still to come of a worker may follow. The next packet with a mark ends it.
   * @param why `shed` when the rendition is not made for now, otherwise `lost`: the worker was replaced, the source could not be decoded, or
   *   packets were dropped because the worker was too slow
   */
  onMissing(renditionId: RenditionId, why: GapReason): void;
  /** The AAC track that the audio becomes; before its packets. */
  onAudioTrack(track: AudioTrack): void;
  /**
   * The next packet of the audio, in session time, not marked. A decoder makes of it what the source sounds like at its time, to the
   * sample, except for the first packet after some were missing.
   */
  onAudioPacket(packet: Packet): void;
  /** A JPEG of the video, at most 640 pixels wide; the first at once, then every few seconds. */
  onThumbnail(jpeg: Uint8Array): void;
  onWarning(warning: TranscoderWarning): void;
  onRestart(restart: TranscoderRestart): void;
}

/** How a transcoder is now. */
export interface TranscoderStats {
  readonly state: 'starting' | 'running' | 'pausing' | 'refused' | 'ended';
  readonly pid: number | undefined;
  readonly restarts: number;
  /** Whether its video has ended two workers and gets no other. */
  readonly isSourceRefused: boolean;
  /** Age of the oldest packet not dealt with yet, in ms. */
  readonly lagMs: number;
  /** Renditions not made for now, in the order in which they were shed. */
  readonly shed: readonly RenditionId[];
  /** Source packets never transcoded: the worker was away or too far behind. */
  readonly droppedPackets: number;
  /** Source packets that could not be decoded. */
  readonly decodeErrors: number;
  /** Bytes queued towards the worker. */
  readonly queuedBytes: number;
  /** Memory of the worker, measured by the server where the system allows it, otherwise as the worker reports it. */
  readonly rssBytes: number;
  /** CPU time of this session's workers so far, in ms. */
  readonly cpuMs: number;
}

/**
 * A session's transcoder. Calls never wait and never throw for a worker's faults: what cannot be transcoded in time is dropped.
 * Video that has ended two workers, by taking too much memory or by a crash soon after the start, gets no third one: only audio is
 * transcoded from then on. A track of another size may try again, once.
 *
 * Disposing it encodes what is left, hands it out, and ends the worker: within two seconds, by force if need be. The callbacks are
 * called until it settles and never after.
 */
export interface Transcoder extends AsyncDisposable {
  /**
   * The video track begins, or changes: what was sent before is finished first. The next packet is a keyframe.
   * @returns what is made of it, and what is not and why
   */
  setTrack(track: VideoTrack): LadderPlan;
  /** Audio of this track is to become AAC, from the next audio packet on. */
  setAudioTrack(track: AudioTrack): void;
  /**
   * Takes the next packet of a track given before, in session time, video with its marks, or that the last frame is held. The bytes must
   * stay as they are. Audio comes back whatever becomes of the video.
   */
  write(event: PacketEvent | HeldEvent): void;
  /** No packet follows for now: the publisher is gone. What the encoders hold is handed out. Goes on at the next marked keyframe. */
  flush(): void;
  readonly stats: TranscoderStats;
}
