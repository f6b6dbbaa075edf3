/**
 * The messages between the server and a transcoder's worker, as objects.
 *
 * The server begins with the job, which carries the protocol version, and the worker answers `ready`. Times are ticks of 90 kHz for video,
 * and samples for audio.
 */

import type { Packet } from '#media/packet.ts';
import type { PictureKind } from '#media/picture.ts';
import type { HeldEvent } from '#media/session-event.ts';
import type { AudioCodec, VideoCodec } from '#media/track.ts';
import type { RenditionPlan } from './rendition-plan.ts';
import type { PictureState } from './transcoder.ts';

/** The first message, with what stays the same for the life of the worker. */
export interface Job {
  readonly version: number;
  readonly preset: string;
  /** The number of threads of each encoder. */
  readonly threads: number;
  /** The kinds of pictures that are made from time to time. */
  readonly pictures: readonly PictureKind[];
}

/** A source and its renditions. */
export interface SourceDescription {
  readonly codec: VideoCodec;
  /** The decoder configuration record, as in a track. */
  readonly config: Uint8Array;
  /** In pixels, as displayed. */
  readonly width: number;
  readonly height: number;
  /** The declared frame rate, or an estimate. */
  readonly framesPerSecond: number;
  /** Later messages identify renditions by their index in this list. */
  readonly renditions: readonly RenditionPlan[];
}

/** Audio to be transcoded to AAC. */
export interface AudioSourceDescription {
  readonly codec: AudioCodec;
  /** As in a track. */
  readonly config: Uint8Array;
  readonly sampleRate: number;
  readonly channels: number;
  /** The end of the audio made by an earlier worker, in samples. A short pause since then becomes silence. */
  readonly continuesAt?: number;
}

/** A packet of audio, before or after transcoding. */
export interface AudioPacket {
  /** In samples. */
  readonly pts: number;
  readonly data: Uint8Array;
}

/** A message from the server. */
export type ToWorker =
  | { readonly type: 'job'; readonly job: Job }
  | { readonly type: 'source'; readonly source: SourceDescription }
  /**
   * A packet of the video. Of its mark only the presence and the discontinuity are sent. `afterGap` means that packets before this keyframe
   * were dropped.
   */
  | { readonly type: 'packet'; readonly packet: Packet; readonly afterGap: boolean }
  /** The last frame is held. Of the mark only the presence is sent. */
  | HeldEvent
  | { readonly type: 'audio_source'; readonly source: AudioSourceDescription }
  | { readonly type: 'audio'; readonly packet: AudioPacket }
  /** The renditions to make from now on. Before the first such message, all are made. */
  | { readonly type: 'active'; readonly renditions: readonly number[] }
  /** No packet follows for now, so everything that is held must be handed out. */
  | { readonly type: 'flush' };

/** A packet of a rendition. The first of a segment is `marked`: of marks, a worker knows only that they are there. */
export interface RenditionPacket {
  readonly rendition: number;
  readonly pts: number;
  readonly dts: number;
  readonly keyframe: boolean;
  readonly marked: boolean;
  readonly data: Uint8Array;
}

/** The state of a worker, which it sends twice a second as a sign of life. */
export interface WorkerHealth extends PictureState {
  readonly rssBytes: number;
  /** User and system time since the worker started. */
  readonly cpuMs: number;
  /** The number of source packets that could not be decoded. */
  readonly decodeErrors: number;
  /** The number of blocks of audio that could not be encoded. */
  readonly encodeErrors: number;
}

/** A message from the worker. */
export type FromWorker =
  | { readonly type: 'ready'; readonly version: number }
  /** The previous source is finished. From now on renditions are those of the next source that was sent. */
  | { readonly type: 'begun' }
  | { readonly type: 'config'; readonly rendition: number; readonly config: Uint8Array }
  | { readonly type: 'packet'; readonly packet: RenditionPacket }
  /** The encoder of a rendition did not open, or refused a frame. No more of this rendition follows for this source. */
  | { readonly type: 'failed'; readonly rendition: number }
  | { readonly type: 'audio_config'; readonly config: Uint8Array }
  | { readonly type: 'audio'; readonly packet: AudioPacket }
  | { readonly type: 'picture'; readonly kind: PictureKind; readonly pts: number; readonly jpeg: Uint8Array }
  /** Frames were lost between the packets sent before and those to come. No rendition continues before the next segment. */
  | { readonly type: 'missing' }
  /** Audio that the source had is missing between the packets of audio sent before and those to come. */
  | { readonly type: 'audio_missing' }
  /** The worker needs some seconds of CPU time before it sends anything else. */
  | { readonly type: 'preparing' }
  /** The number of video packets, held frames and flushes processed since the last such message. Their results were sent before it. */
  | { readonly type: 'done'; readonly count: number }
  /** The worker could not allocate memory and must be replaced. */
  | { readonly type: 'out_of_memory' }
  | { readonly type: 'health'; readonly health: WorkerHealth };
