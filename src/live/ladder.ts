/**
 * What is transcoded of one session: feeds the transcoder and hands the renditions it makes to the presentation, the sound back.
 */
import type { Profile } from '#domain/profile.ts';
import type { Presentation } from '#hls/hls.ts';
import type { Clock } from '#lib/clock.ts';
import type { Packet } from '#media/packet.ts';
import { type AudioTrack, sameTrack, type VideoTrack } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import { type LadderPlan, planRenditions } from '#transcode/rendition-plan.ts';
import type { Transcoder, TranscoderCallbacks, TranscoderWarning } from '#transcode/transcoder.ts';
import type { TranscodeRefusal, TranscodeRequest } from '#transcode/transcoder-pool.ts';
import { HeadStart } from './head-start.ts';
import { type LadderHealth, type RenditionHealth, videoHealth } from './health.ts';
import { MediaTotals } from './media-totals.ts';
import { RateMeter } from './rate-meter.ts';
import { renditionIdOf } from './rendition-id.ts';
import type { SessionWarnings } from './session-warnings.ts';

/** Opens a transcoder for a session, or says why there is none. */
export type OpenTranscoder = (request: TranscodeRequest) => Transcoder | TranscodeRefusal;

/** The user and stream that a transcoder is charged to, and how many transcoders that user may have at this moment. */
export type LadderOwner = Pick<TranscodeRequest, 'userId' | 'streamId' | 'atMost'>;

/** What a ladder is made with. */
export interface LadderOptions {
  readonly owner: LadderOwner;
  readonly profiles: readonly Profile[];
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

/** The warning and the log text for each reason why a session has no transcoder until further notice. */
const REFUSALS = {
  limit: {
    code: 'transcode_limit_reached',
    text: 'source rendition only: this server transcodes as much as it may',
  },
  quota: {
    code: 'transcode_quota_reached',
    text: 'source rendition only: the user has as many transcoded sessions as its quota allows',
  },
  unavailable: {
    code: 'transcode_unavailable',
    text: 'source rendition only: FFmpeg is not installed',
  },
} as const;

const NO_PLAN: LadderPlan = { renditions: [], leftOut: [] };

/**
 * A session's ladder. Without profiles, and with audio that is passed through, it makes nothing. It begins when media has lasted for a
 * moment, with the packets kept until then. At the limit of transcodes or at the quota of the user it begins when another one has ended.
 */
export class Ladder implements AsyncDisposable {
  readonly #options: LadderOptions;
  #transcoder: Transcoder | undefined;
  #refusal: keyof typeof REFUSALS | undefined;
  readonly #headStart = new HeadStart();
  /** What is to be transcoded. */
  #track: VideoTrack | undefined;
  #audioTrack: AudioTrack | undefined;
  #plan = NO_PLAN;
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
    return this.#transcoder !== undefined && !this.#closed;
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
    this.#headStart.clear();
    if (this.#transcoder === undefined) this.#open();
    else this.#sendTrack(this.#transcoder);
  }

  /** Takes the audio that must be encoded as AAC for viewers: when it begins, and whenever its configuration changes. */
  setAudioTrack(track: AudioTrack): void {
    this.#audioTrack = track;
    if (this.#transcoder === undefined) this.#open();
    else this.#transcoder.setAudioTrack(track);
  }

  /** Takes the next packet in session time: of video, with its segment mark, or of the audio to be encoded. */
  write(packet: Packet): void {
    if (this.#transcoder === undefined) this.#wait(packet);
    else this.#transcoder.write(packet);
  }

  /** No packet follows for now. */
  flush(): void {
    this.#headStart.restart();
    this.#transcoder?.flush();
  }

  /** Makes what is under way, hands it out and ends the transcoder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transcoder?.[Symbol.asyncDispose]();
    this.#closed = true;
  }

  /** Keeps a packet and asks for a transcoder; after a refusal only at a keyframe of the leading track, with which renditions can begin. */
  #wait(packet: Packet): void {
    const track = packet.kind === 'video' ? this.#track : this.#audioTrack;
    if (this.#closed || track === undefined) return;
    const leader = this.#track === undefined ? 'audio' : 'video';
    if (this.#refusal !== undefined) {
      if (!packet.keyframe || packet.kind !== leader) return;
      this.#headStart.clear();
    }
    this.#headStart.add(packet, leader, track.timescale, this.#options.clock.monotonic());
    this.#open();
  }

  #open(): void {
    const { owner, profiles, openTranscoder, logger, clock } = this.#options;
    if (this.#closed || (this.#track === undefined && this.#audioTrack === undefined)) return;
    const lastedMs = this.#headStart.lastedMs(clock.monotonic());
    let isRevoked = false;
    const onRevoked = () => {
      isRevoked = true;
      this.#transcoder = undefined;
      this.#refuse('limit');
    };
    const callbacks = this.#callbacks(() => isRevoked);
    const answer = openTranscoder({ ...owner, profiles, logger, lastedMs, callbacks, onRevoked });
    if (answer === 'later') this.#announce(this.#refusal === undefined ? this.#planned() : NO_PLAN);
    else if (typeof answer === 'string') this.#refuse(answer);
    else this.#begin(answer);
  }

  #begin(transcoder: Transcoder): void {
    this.#transcoder = transcoder;
    if (this.#refusal !== undefined) {
      this.#options.warnings.clear(REFUSALS[this.#refusal].code);
      this.#options.logger.info({}, 'transcoding begins: there is room again');
      this.#refusal = undefined;
    }
    this.#sendTrack(transcoder);
    if (this.#audioTrack !== undefined) transcoder.setAudioTrack(this.#audioTrack);
    for (const packet of this.#headStart.take()) transcoder.write(packet);
  }

  /** Leaves the session with the source rendition alone, and warns of it, until a transcoder can be had. */
  #refuse(why: keyof typeof REFUSALS): void {
    const { warnings, logger } = this.#options;
    this.#headStart.clear();
    this.#announce(NO_PLAN);
    if (this.#refusal === why) return;
    if (this.#refusal !== undefined) warnings.clear(REFUSALS[this.#refusal].code);
    this.#refusal = why;
    const { code, text } = REFUSALS[why];
    warnings.raise({ code });
    logger.warn({ code }, text);
  }

  #planned(): LadderPlan {
    return this.#track === undefined ? NO_PLAN : planRenditions(this.#options.profiles, this.#track);
  }

  /** Makes players wait for the first parts of the renditions of this plan, and no longer for those of the plan before. */
  #announce(plan: LadderPlan): void {
    const { profiles, presentation } = this.#options;
    const idsOf = ({ renditions }: LadderPlan) => renditions.map(({ id }) => renditionIdOf(id, profiles));
    const [before, ids] = [idsOf(this.#plan), idsOf(plan)];
    this.#plan = plan;
    const gone = before.filter((id) => !ids.includes(id));
    const added = ids.filter((id) => !before.includes(id));
    if (gone.length > 0) presentation.unexpect(gone);
    if (added.length > 0) presentation.expect(added);
    const tooLarge = plan.leftOut.map(({ id }) => id);
    this.#warnOf('profile_larger_than_source', tooLarge);
  }

  #sendTrack(transcoder: Transcoder): void {
    if (this.#track === undefined) return;
    const plan = transcoder.setTrack(this.#track);
    const { isSourceRefused } = transcoder.stats;
    this.#announce(isSourceRefused ? NO_PLAN : plan);
    if (!isSourceRefused) this.#options.warnings.clear('transcode_source_refused');
    this.#warnOfShed();
  }

  /** Makes the callbacks of one transcoder. They do nothing once it was revoked. */
  #callbacks(isRevoked: () => boolean): TranscoderCallbacks {
    const { warnings, onAudioTrack, onAudioPacket } = this.#options;
    const unlessRevoked =
      <Args extends readonly unknown[]>(listen: (...args: Args) => void) =>
      (...args: Args) => {
        if (!isRevoked()) listen(...args);
      };
    return {
      onTrack: unlessRevoked((id, track) => this.#onTrack(id, track)),
      onPacket: unlessRevoked((id, packet) => this.#onPacket(id, packet)),
      onAudioTrack: unlessRevoked(onAudioTrack),
      onAudioPacket: unlessRevoked(onAudioPacket),
      onThumbnail: unlessRevoked((jpeg) => {
        this.#thumbnail = jpeg;
      }),
      // The transcoder logs these itself.
      onWarning: unlessRevoked((warning) => this.#onWarning(warning)),
      onRestart: unlessRevoked(() => void warnings.raise({ code: 'transcode_restarted' })),
    };
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
      case 'transcode_source_refused':
        this.#announce(NO_PLAN);
        warnings.raise({ code });
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
