/**
 * The messages between the server and a transcoder's worker, as objects.
 *
 * The server begins with the job, which carries the version; the worker answers `ready`. Times are of video ticks of 90 kHz, of
 * audio samples.
 */
import type { Packet } from '#media/packet.ts';
import type { HeldEvent } from '#media/session-event.ts';
import type { AudioCodec, VideoCodec } from '#media/track.ts';
import type { RenditionPlan } from './rendition-plan.ts';

/** The first message: what stays the same as long as the worker lives. */
export interface Job {
  readonly version: number;
  readonly preset: string;
  /** Of each encoder. */
  readonly threads: number;
  readonly thumbnails: boolean;
}

/** A source and what is to be made of it. */
export interface SourceDescription {
  readonly codec: VideoCodec;
  /** Its decoder configuration record, as in a track. */
  readonly config: Uint8Array;
  /** Pixels, as displayed. */
  readonly width: number;
  readonly height: number;
  /** As declared, or a guess. */
  readonly framesPerSecond: number;
  /** Later messages name renditions by their place here. */
  readonly renditions: readonly RenditionPlan[];
}

/** Sound that is to become AAC. */
export interface AudioSourceDescription {
  readonly codec: AudioCodec;
  /** As in a track. */
  readonly config: Uint8Array;
  readonly sampleRate: number;
  readonly channels: number;
  /** End of what an earlier worker made, in samples: a short pause until now becomes silence. */
  readonly continuesAt?: number;
}

/** A packet of sound, of a source or of what was made of it. */
export interface AudioPacket {
  /** In samples. */
  readonly pts: number;
  readonly data: Uint8Array;
}

/** From the server. */
export type ToWorker =
  | { readonly type: 'job'; readonly job: Job }
  | { readonly type: 'source'; readonly source: SourceDescription }
  /** A packet of the video; of its mark only the fact and the discontinuity arrive. `afterGap`: packets before this keyframe were dropped. */
  | { readonly type: 'packet'; readonly packet: Packet; readonly afterGap: boolean }
  /** The last frame is held; of its mark only the fact arrives. */
  | HeldEvent
  | { readonly type: 'audio_source'; readonly source: AudioSourceDescription }
  | { readonly type: 'audio'; readonly packet: AudioPacket }
  /** The renditions to make from now on; all of them until told otherwise. */
  | { readonly type: 'active'; readonly renditions: readonly number[] }
  /** Nothing follows for now: give out everything that is held. */
  | { readonly type: 'flush' };

/** A packet of a rendition. `cut`: the first of a segment. */
export interface RenditionPacket {
  readonly rendition: number;
  readonly pts: number;
  readonly dts: number;
  readonly keyframe: boolean;
  readonly cut: boolean;
  readonly data: Uint8Array;
}

/** How a worker is, said twice a second and so a sign of life. */
export interface WorkerHealth {
  readonly rssBytes: number;
  /** User and system, since it began. */
  readonly cpuMs: number;
  readonly decodeErrors: number;
}

/** From the worker. */
export type FromWorker =
  | { readonly type: 'ready'; readonly version: number }
  /** The earlier source is finished; from now on renditions are those of the next source that was sent. */
  | { readonly type: 'begun' }
  | { readonly type: 'config'; readonly rendition: number; readonly config: Uint8Array }
  | { readonly type: 'packet'; readonly packet: RenditionPacket }
  | { readonly type: 'audio_config'; readonly config: Uint8Array }
  | { readonly type: 'audio'; readonly packet: AudioPacket }
  | { readonly type: 'thumbnail'; readonly jpeg: Uint8Array }
  /** Frames were lost between the packets sent before and those to come: no rendition goes on before the next segment. */
  | { readonly type: 'missing' }
  /** Video packets, held frames and flushes dealt with since the last time; what came of them was sent before. */
  | { readonly type: 'done'; readonly count: number }
  /** The worker was refused memory and can do nothing more: it must be replaced. */
  | { readonly type: 'out_of_memory' }
  | { readonly type: 'health'; readonly health: WorkerHealth };
