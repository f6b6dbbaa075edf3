/**
 * What is transcoded of one session: feeds the transcoder and hands the renditions it makes to the presentation, the sound back.
 */
import type { StreamId, UserId } from '#domain/ids.ts';
import type { Profile } from '#domain/profile.ts';
import type { Presentation } from '#hls/hls.ts';
import type { Clock } from '#lib/clock.ts';
import type { Packet } from '#media/packet.ts';
import { type AudioTrack, sameTrack, type VideoTrack } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { LadderPlan } from '#transcode/rendition-plan.ts';
import type { Transcoder, TranscoderCallbacks, TranscoderWarning } from '#transcode/transcoder.ts';
import { type LadderHealth, type RenditionHealth, videoHealth } from './health.ts';
import { MediaTotals } from './media-totals.ts';
import { RateMeter } from './rate-meter.ts';
import { renditionIdOf } from './rendition-id.ts';
import type { SessionWarnings } from './session-warnings.ts';

/** Gives a session its transcoder; undefined when this process runs as many as it may. */
export type OpenTranscoder = (request: {
  readonly profiles: readonly Profile[];
  readonly callbacks: TranscoderCallbacks;
  readonly logger: Logger;
}) => Transcoder | undefined;

/** Whose session is transcoded, and how many sessions of that user may be at the same time. */
export interface LadderOwner {
  readonly userId: UserId;
  readonly streamId: StreamId;
  /** 0 = any number. May change at any time. */
  readonly transcodesAtMost: number;
}

/** What a ladder is made with. */
export interface LadderOptions {
  readonly profiles: readonly Profile[];
  readonly owner?: LadderOwner;
  readonly presentation: Presentation;
  readonly openTranscoder: OpenTranscoder;
  /** What sound given to {@link Ladder.setAudioTrack} became: as the transcoder's callbacks say. */
  readonly onAudioTrack: TranscoderCallbacks['onAudioTrack'];
  readonly onAudioPacket: TranscoderCallbacks['onAudioPacket'];
  readonly warnings: SessionWarnings;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A rendition as it comes. */
interface Output {
  readonly meter: RateMeter;
  readonly totals: MediaTotals;
  track: VideoTrack;
}

/**
 * A session's ladder; without profiles and with sound that needs nothing it makes nothing, and beyond the limit of transcodes nothing
 * until another's has ended.
 */
export class Ladder implements AsyncDisposable {
  readonly #options: LadderOptions;
  #transcoder: Transcoder | undefined;
  #refused = false;
  /** What is to be transcoded. */
  #track: VideoTrack | undefined;
  #audioTrack: AudioTrack | undefined;
  #plan: LadderPlan = { renditions: [], leftOut: [] };
  readonly #outputs = new Map<string, Output>();
  #thumbnail: Uint8Array | undefined;
  #closed = false;

  constructor(options: LadderOptions) {
    this.#options = options;
  }

  /** The newest picture as a JPEG; undefined before the first. */
  get thumbnail(): Uint8Array | undefined {
    return this.#thumbnail;
  }

  /** Something is being transcoded. */
  get isActive(): boolean {
    return this.#transcoder !== undefined;
  }

  /** What it has made so far, all renditions together. */
  get totals(): Pick<MediaTotals, 'bytes' | 'segments' | 'seconds'> {
    const sum = { bytes: 0, segments: 0, seconds: 0 };
    for (const { totals } of this.#outputs.values()) {
      sum.bytes += totals.bytes;
      sum.segments += totals.segments;
      sum.seconds += totals.seconds;
    }
    return sum;
  }

  /** What it makes now, in bytes a second. */
  get bytesPerSecond(): number {
    const now = this.#options.clock.monotonic();
    let bps = 0;
    for (const { meter } of this.#outputs.values()) bps += meter.rates(now)?.bitrateBps ?? 0;
    return bps / 8;
  }

  /** What it makes, and how. */
  get health(): LadderHealth {
    const stats = this.#transcoder?.stats;
    return {
      renditions: this.#plan.renditions.map(({ id }) => this.#renditionHealth(id, stats?.shed ?? [])),
      leftOut: this.#plan.leftOut,
      transcoder: stats && { restarts: stats.restarts, lagMs: stats.lagMs },
    };
  }

  /** The video's configuration: at its beginning, and when it changed. */
  setTrack(track: VideoTrack): void {
    if (this.#options.profiles.length === 0 || (this.#track !== undefined && sameTrack(this.#track, track))) return;
    this.#track = track;
    if (!this.#refused) this.#transcoder ??= this.#open();
    this.#sendTrack();
  }

  /** Sound that is not for viewers as it is, of which AAC is to be made: at its beginning, and when it changed. */
  setAudioTrack(track: AudioTrack): void {
    this.#audioTrack = track;
    if (!this.#refused) this.#transcoder ??= this.#open();
    this.#sendAudioTrack();
  }

  /** The next packet in session time: video, marked, or of sound that was given. */
  write(packet: Packet): void {
    if (this.#refused) this.#tryAgain(packet);
    this.#transcoder?.write(packet);
  }

  /** No packet follows for now. */
  flush(): void {
    this.#transcoder?.flush();
  }

  /** Makes what is under way, hands it out and ends the transcoder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transcoder?.[Symbol.asyncDispose]();
    this.#closed = true;
  }

  /** At each packet that all can begin with: another's transcoder may have ended. */
  #tryAgain({ kind, keyframe }: Packet): void {
    if (this.#closed || !keyframe || kind !== (this.#track === undefined ? 'audio' : 'video')) return;
    this.#transcoder = this.#open();
    this.#refused = this.#transcoder === undefined;
    if (this.#refused) return;
    this.#options.warnings.clear('transcode_limit_reached');
    this.#options.logger.info({}, 'transcoding begins: this server has room again');
    this.#sendTrack();
    this.#sendAudioTrack();
  }

  #sendTrack(): void {
    if (this.#track === undefined || this.#transcoder === undefined) return;
    const { profiles, presentation } = this.#options;
    this.#plan = this.#transcoder.setTrack(this.#track);
    presentation.expect(this.#plan.renditions.map(({ id }) => renditionIdOf(id, profiles)));
    const tooLarge = this.#plan.leftOut.map(({ id }) => id);
    this.#warnOf('profile_larger_than_source', tooLarge);
    this.#warnOfShed();
  }

  #sendAudioTrack(): void {
    if (this.#audioTrack !== undefined) this.#transcoder?.setAudioTrack(this.#audioTrack);
  }

  #open(): Transcoder | undefined {
    const { profiles, openTranscoder, warnings, logger, onAudioTrack, onAudioPacket } = this.#options;
    const transcoder = openTranscoder({
      profiles,
      logger,
      callbacks: {
        onTrack: (id, track) => this.#onTrack(id, track),
        onPacket: (id, packet) => this.#onPacket(id, packet),
        onAudioTrack,
        onAudioPacket,
        onThumbnail: (jpeg) => {
          this.#thumbnail = jpeg;
        },
        // The transcoder logs these itself.
        onWarning: (warning) => this.#onWarning(warning),
        onRestart: () => warnings.raise({ code: 'transcode_restarted' }),
      },
    });
    if (transcoder === undefined && !this.#refused) {
      this.#refused = true;
      const code = 'transcode_limit_reached';
      warnings.raise({ code });
      logger.warn({ code }, 'source rendition only: this server transcodes as much as it may');
    }
    return transcoder;
  }

  #onTrack(id: string, track: VideoTrack): void {
    const output = this.#outputs.get(id);
    if (output === undefined) this.#outputs.set(id, { meter: new RateMeter(), totals: new MediaTotals(), track });
    else output.track = track;
    const plan = this.#plan.renditions.find((rendition) => rendition.id === id);
    const { presentation, profiles } = this.#options;
    presentation.setTrack(renditionIdOf(id, profiles), track, plan?.bitrateBps, plan?.peakBitrateBps);
  }

  #onPacket(id: string, packet: Packet): void {
    if (this.#closed) return;
    const { presentation, profiles } = this.#options;
    presentation.write(renditionIdOf(id, profiles), packet);
    const output = this.#outputs.get(id);
    if (output === undefined) return;
    output.totals.add(packet, output.track.timescale);
    output.meter.add(packet.data.byteLength, packet.dts / output.track.timescale, this.#options.clock.monotonic());
  }

  #onWarning({ code, renditionId }: TranscoderWarning): void {
    const { warnings } = this.#options;
    switch (code) {
      case 'transcode_rendition_shed':
        this.#warnOfShed();
        break;
      case 'transcode_rendition_restored':
        this.#warnOfShed();
        if (renditionId !== undefined) warnings.raise({ code, renditions: [renditionId] });
        break;
      default:
        warnings.raise({ code });
    }
  }

  #warnOfShed(): void {
    this.#warnOf('transcode_rendition_shed', this.#transcoder?.stats.shed ?? []);
  }

  /** It is so for these renditions, and for no others. */
  #warnOf(code: 'profile_larger_than_source' | 'transcode_rendition_shed', renditions: readonly string[]): void {
    if (renditions.length > 0) this.#options.warnings.raise({ code, renditions });
    else this.#options.warnings.clear(code);
  }

  #renditionHealth(id: string, shed: readonly string[]): RenditionHealth {
    const output = this.#outputs.get(id);
    const rates = output?.meter.rates(this.#options.clock.monotonic());
    const state = shed.includes(id) ? 'shed' : rates === undefined ? 'waiting' : 'running';
    return { id, state, video: output && videoHealth(output.track, rates) };
  }
}
