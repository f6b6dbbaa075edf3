/**
 * The renditions made of one session for its profiles, and its audio as AAC. It opens a transcoder, passes it the sequence of the source,
 * and writes the sequence of each rendition.
 */
import type { LadderHealth, RenditionHealth } from '#domain/health.ts';
import { AUDIO_RENDITION, type Profile } from '#domain/profile.ts';
import type { Clock } from '#lib/clock.ts';
import type { Packet } from '#media/packet.ts';
import type { Picture } from '#media/picture.ts';
import type { GapReason, HeldEvent, PacketEvent, RenditionId } from '#media/session-event.ts';
import { type AudioTrack, sameTrack, type VideoTrack } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import {
  type LadderPlan,
  type LeftOutProfile,
  NO_PLAN,
  planRenditions,
  type RenditionPlan,
} from '#transcode/rendition-plan.ts';
import { areaOf } from '#transcode/size.ts';
import { SourceTrust } from '#transcode/source-trust.ts';
import type { PictureState, Transcoder, TranscoderCallbacks, TranscoderWarning } from '#transcode/transcoder.ts';
import type { TranscodeRefusal, TranscodeRequest } from '#transcode/transcoder-pool.ts';
import { HeadStart } from './head-start.ts';
import { videoHealth } from './health.ts';
import { MediaTotals } from './media-totals.ts';
import { RateMeter } from './rate-meter.ts';
import type { RenditionSequence } from './rendition-sequence.ts';
import type { SessionWarnings } from './session-warnings.ts';

/** Opens a transcoder for a session, or returns why there is none. */
export type OpenTranscoder = (request: TranscodeRequest) => Transcoder | TranscodeRefusal;

/** The user and stream that a transcoder is charged to, and the number of transcoders that the user may have now. */
export type TranscoderOwner = Pick<TranscodeRequest, 'userId' | 'streamId' | 'atMost'>;

/** The options of a session's renditions. */
export interface TranscodedRenditionsOptions {
  readonly owner: TranscoderOwner;
  readonly profiles: readonly Profile[];
  readonly openTranscoder: OpenTranscoder;
  /** Makes the sequence of a rendition. */
  readonly openSequence: (id: RenditionId) => RenditionSequence;
  /** Called with the renditions that new viewers may begin with, the encoded audio among them, whenever these change. */
  readonly onOffered: (renditions: readonly RenditionId[]) => void;
  /** Called with the encoded form of the audio given to {@link TranscodedRenditions.setAudioTrack}. */
  readonly onAudioTrack: (track: AudioTrack) => void;
  readonly onAudioPacket: (packet: Packet) => void;
  /** Called when packets of that audio are missing after the newest one. */
  readonly onAudioMissing: (why: GapReason) => void;
  /** Called with each picture of the video. */
  readonly onPicture?: (picture: Picture) => void;
  readonly targetDurationS: number;
  readonly warnings: SessionWarnings;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A rendition that has begun. */
interface Rendition {
  readonly sequence: RenditionSequence;
  /** The rendition whose packets the sequence gets: this one, or its stand-in. In a running sequence it changes where a segment begins. */
  carries: RenditionId;
  readonly meter: RateMeter;
  readonly totals: MediaTotals;
  track: VideoTrack;
  /** The decoding time of the newest packet, in seconds. */
  reachedS: number;
}

/** The warning and the log text for each reason why a session has no transcoder. */
const REFUSALS = {
  limit: {
    code: 'transcode_limit_reached',
    text: 'source rendition only: this server has reached its limit of transcodes',
  },
  quota: {
    code: 'transcode_quota_reached',
    text: 'source rendition only: the user has reached its quota of transcodes',
  },
  unavailable: {
    code: 'transcode_unavailable',
    text: 'source rendition only: FFmpeg is not installed',
  },
} as const;

const NONE: readonly RenditionId[] = [];

/** Whether there is a transcoder. */
type State =
  | { readonly type: 'waiting' } // not yet, because media must have lasted for a moment
  | { readonly type: 'refused'; readonly why: keyof typeof REFUSALS } // not until another transcoder has ended
  | { readonly type: 'source_refused' } // until the video has another size, or there is audio to encode
  | { readonly type: 'open'; readonly transcoder: Transcoder }
  | { readonly type: 'closed' };

/**
 * The transcoded renditions of one session, and its encoded audio. A session without profiles has no such renditions, and only audio that
 * is not passed through is encoded. They begin when media has lasted for a moment, with the packets kept until then. At the limit of
 * transcoders, or at the quota of the user, they begin when another transcoder has ended.
 */
export class TranscodedRenditions implements AsyncDisposable {
  readonly #options: TranscodedRenditionsOptions;
  #state: State = { type: 'waiting' };
  readonly #headStart = new HeadStart();
  /** Lasts as long as the session, so that video which has ended workers does not get more workers with another transcoder. */
  readonly #trust = new SourceTrust();
  /** The video to be transcoded. */
  #track: VideoTrack | undefined;
  #audioTrack: AudioTrack | undefined;
  #plan = NO_PLAN;
  /** The renditions that were last offered. */
  #offered = '';
  /** The time last given to {@link fillUntil}, in seconds. */
  #sourceS = 0;
  readonly #renditions = new Map<RenditionId, Rendition>();
  #thumbnail: Uint8Array | undefined;

  constructor(options: TranscodedRenditionsOptions) {
    this.#options = options;
  }

  /** The newest frame as a JPEG. Undefined before the first. */
  get thumbnail(): Uint8Array | undefined {
    return this.#thumbnail;
  }

  /** Whether something is being transcoded. */
  get isActive(): boolean {
    return this.#state.type === 'open';
  }

  /** The totals of all renditions together. */
  get totals(): Pick<MediaTotals, 'bytes' | 'segments' | 'seconds'> {
    const sum = { bytes: 0, segments: 0, seconds: 0 };
    for (const { totals } of this.#renditions.values()) {
      sum.bytes += totals.bytes;
      sum.segments += totals.segments;
      sum.seconds += totals.seconds;
    }
    return sum;
  }

  /** Bytes per second of all renditions together. */
  get bytesPerSecond(): number {
    const now = this.#options.clock.monotonic();
    let bps = 0;
    for (const { meter } of this.#renditions.values()) bps += meter.rates(now)?.bitrateBps ?? 0;
    return bps / 8;
  }

  /** The health of each rendition, computed at each call. */
  get health(): LadderHealth {
    const stats = this.#transcoder?.stats;
    return {
      renditions: this.#plan.renditions.map(({ id, profile }) => this.#healthOf(id, profile, stats?.shed ?? [])),
      leftOut: this.#plan.leftOut.map(({ profile, reason }) => ({ id: profile, reason })),
      transcoder: stats && { restarts: stats.restarts, lagMs: stats.lagMs },
    };
  }

  /** For how long the video has been black or frozen. Undefined where nothing is transcoded. */
  get pictureState(): PictureState | undefined {
    return this.#transcoder?.stats.picture;
  }

  /** Takes the configuration of the video, when it begins and whenever it changes. */
  setTrack(track: VideoTrack): void {
    if (this.#options.profiles.length === 0 || (this.#track !== undefined && sameTrack(this.#track, track))) return;
    this.#track = track;
    this.#headStart.clear();
    if (this.#state.type === 'source_refused') {
      if (!this.#trust.accepts(track)) return;
      this.#options.warnings.clear('transcode_source_refused');
      this.#state = { type: 'waiting' };
    }
    if (this.#transcoder === undefined) this.#open();
    else this.#sendTrack(this.#transcoder);
  }

  /** Takes the configuration of audio that must be encoded as AAC, when it begins and whenever it changes. */
  setAudioTrack(track: AudioTrack): void {
    this.#audioTrack = track;
    if (this.#state.type === 'source_refused') this.#state = { type: 'waiting' };
    if (this.#transcoder === undefined) this.#open();
    else this.#transcoder.setAudioTrack(track);
    this.#offer();
  }

  /** Takes the next event of the source, or the next packet of the audio to be encoded, in session time. */
  write(event: PacketEvent | HeldEvent): void {
    if (this.#transcoder === undefined) this.#wait(event);
    else this.#transcoder.write(event);
  }

  /** Writes gaps until a session time, in seconds, where packets are missing, but not beyond what a stand-in has reached. */
  fillUntil(untilS: number): void {
    this.#sourceS = untilS;
    if (this.#renditions.size === 0) return;
    let isInterrupted = false;
    for (const [id, { sequence }] of this.#renditions) {
      if (!sequence.isInterrupted) continue;
      sequence.fillUntil(Math.min(untilS, this.#standInReachesS(id)));
      isInterrupted = true;
    }
    if (isInterrupted) this.#offer();
  }

  /** Makes the encoders hand out what they hold, because no packet follows for now. */
  flush(): void {
    this.#headStart.restart();
    this.#transcoder?.flush();
  }

  /** Notes that packets of every rendition are missing from now on, because those of the source are. */
  interrupt(why: GapReason): void {
    for (const { sequence } of this.#renditions.values()) sequence.interrupt(why);
  }

  /** Ends every rendition. */
  end(): void {
    for (const { sequence } of this.#renditions.values()) sequence.end();
  }

  /** Finishes the packets in progress, hands them out and ends the transcoder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transcoder?.[Symbol.asyncDispose]();
    this.#state = { type: 'closed' };
  }

  get #transcoder(): Transcoder | undefined {
    return this.#state.type === 'open' ? this.#state.transcoder : undefined;
  }

  /** The renditions that are shed, or restored but not made yet. */
  get #shed(): readonly RenditionId[] {
    return this.#transcoder?.stats.shed ?? NONE;
  }

  /**
   * Keeps a packet and requests a transcoder. After a refusal it requests one only at a keyframe of the leading track, with which
   * renditions can begin.
   */
  #wait(event: PacketEvent | HeldEvent): void {
    const kind = event.type === 'packet' ? event.packet.kind : 'video';
    const track = kind === 'video' ? this.#track : this.#audioTrack;
    if (this.#state.type === 'closed' || this.#state.type === 'source_refused' || track === undefined) return;
    const leader = this.#track === undefined ? 'audio' : 'video';
    if (this.#state.type === 'refused') {
      if (kind !== leader || event.type !== 'packet' || !event.packet.keyframe) return;
      this.#headStart.clear();
    }
    this.#headStart.add(event, leader, track.timescale, this.#options.clock.monotonic());
    this.#open();
  }

  #open(): void {
    const { owner, profiles, openTranscoder, logger, clock } = this.#options;
    if (this.#state.type === 'closed' || (this.#track === undefined && this.#audioTrack === undefined)) return;
    const lastedMs = this.#headStart.lastedMs(clock.monotonic());
    let isRevoked = false;
    const onRevoked = () => {
      isRevoked = true;
      this.#refuse('limit');
    };
    const callbacks = this.#callbacks(() => isRevoked);
    const trust = this.#trust;
    const answer = openTranscoder({ ...owner, profiles, logger, lastedMs, callbacks, trust, onRevoked });
    if (answer === 'later') this.#announce(this.#state.type === 'refused' ? NO_PLAN : this.#planned());
    else if (typeof answer === 'string') this.#refuse(answer);
    else this.#begin(answer);
  }

  #begin(transcoder: Transcoder): void {
    if (this.#state.type === 'refused') {
      this.#options.warnings.clear(REFUSALS[this.#state.why].code);
      this.#options.logger.info({}, 'transcoding begins, because another transcode has ended');
    }
    this.#state = { type: 'open', transcoder };
    this.#sendTrack(transcoder);
    if (this.#audioTrack !== undefined) transcoder.setAudioTrack(this.#audioTrack);
    for (const event of this.#headStart.take()) transcoder.write(event);
  }

  /**
   * Leaves the session with the source rendition only, and raises a warning until a transcoder is available. Audio that was transcoded until
   * now is missing from now on: players that have it would stop without it.
   */
  #refuse(why: keyof typeof REFUSALS): void {
    const { warnings, logger } = this.#options;
    const before = this.#state;
    this.#state = { type: 'refused', why };
    this.#headStart.clear();
    this.#endRenditions();
    if (before.type === 'open' && this.#audioTrack !== undefined) this.#options.onAudioMissing('lost');
    if (before.type === 'refused') {
      if (before.why === why) return;
      warnings.clear(REFUSALS[before.why].code);
    }
    const { code, text } = REFUSALS[why];
    warnings.raise({ code });
    logger.warn({ code }, text);
  }

  /** Disposes the transcoder, which has nothing more to do, so that another session can have its place. */
  #giveUp(): void {
    const transcoder = this.#transcoder;
    this.#state = { type: 'source_refused' };
    void transcoder?.[Symbol.asyncDispose]();
  }

  #planned(): LadderPlan {
    if (this.#track === undefined || this.#trust.isRefused) return NO_PLAN;
    return planRenditions(this.#options.profiles, this.#track);
  }

  /** Takes the renditions that are made from now on. Others end, and may begin again later. */
  #announce(plan: LadderPlan): void {
    this.#plan = plan;
    for (const [id, rendition] of this.#renditions) {
      if (this.#isPlanned(id)) continue;
      rendition.sequence.end();
      rendition.carries = id;
    }
    this.#offer();
    const leftOutFor = (reason: LeftOutProfile['reason']) =>
      plan.leftOut.flatMap((each) => (each.reason === reason ? [each.profile] : []));
    this.#warnOf('profile_larger_than_source', leftOutFor('larger_than_source'));
    this.#warnOf('transcode_rendition_failed', leftOutFor('encoder_failed'));
  }

  /** Leaves out a rendition whose encoder failed. */
  #leaveOut(failed: RenditionId): void {
    const { renditions, leftOut } = this.#plan;
    const failures = this.#profilesOf([failed]).map((profile) => ({ profile, reason: 'encoder_failed' }) as const);
    this.#announce({ renditions: renditions.filter(({ id }) => id !== failed), leftOut: [...leftOut, ...failures] });
    this.#warnOfShed();
  }

  /** Notes that the video is not transcoded any more. Its thumbnail is outdated. */
  #endRenditions(): void {
    this.#thumbnail = undefined;
    this.#announce(NO_PLAN);
    this.#warnOfShed();
  }

  /** Offers renditions to new viewers: not those that are shed, or have been missing for a target duration. */
  #offer(): void {
    const shed = this.#shed;
    const isMissing = (id: RenditionId) => {
      const rendition = this.#renditions.get(id);
      if (rendition === undefined || !rendition.sequence.isMissingAlone) return false;
      return this.#sourceS - rendition.reachedS > this.#options.targetDurationS;
    };
    const ids = this.#plan.renditions.map(({ id }) => id).filter((id) => !shed.includes(id) && !isMissing(id));
    const isRefused = this.#state.type === 'refused' || this.#audioTrack === undefined;
    const offered = isRefused ? ids : [...ids, AUDIO_RENDITION];
    if (offered.join(' ') === this.#offered) return;
    this.#offered = offered.join(' ');
    this.#options.onOffered(offered);
  }

  #sendTrack(transcoder: Transcoder): void {
    if (this.#track === undefined) {
      this.#offer();
      return;
    }
    this.#announce(transcoder.setTrack(this.#track));
    if (!this.#trust.isRefused) this.#options.warnings.clear('transcode_source_refused');
    this.#warnOfShed();
  }

  /** Makes the callbacks of one transcoder. They do nothing after it was revoked. */
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
      onMissing: unlessRevoked((id, why) => this.#onMissing(id, why)),
      onAudioTrack: unlessRevoked(onAudioTrack),
      onAudioPacket: unlessRevoked(onAudioPacket),
      onPicture: unlessRevoked((picture) => {
        if (picture.kind === 'poster') this.#thumbnail = picture.jpeg;
        this.#options.onPicture?.(picture);
      }),
      // The transcoder logs these itself.
      onWarning: unlessRevoked((warning) => this.#onWarning(warning)),
      onRestart: unlessRevoked(() => void warnings.raise({ code: 'transcode_restarted' })),
    };
  }

  #onTrack(id: RenditionId, track: VideoTrack): void {
    let rendition = this.#renditions.get(id);
    if (rendition === undefined) {
      const sequence = this.#options.openSequence(id);
      rendition = { sequence, carries: id, meter: new RateMeter(), totals: new MediaTotals(), track, reachedS: 0 };
      this.#renditions.set(id, rendition);
    }
    rendition.track = track;
    for (const [carrier, { carries }] of this.#renditions) if (carries === id) this.#carry(carrier, id);
  }

  /** Makes the sequence of a rendition carry another one, or itself, and writes the carried one's track into it. */
  #carry(carrier: RenditionId, id: RenditionId): void {
    const [rendition, carried] = [this.#renditions.get(carrier), this.#renditions.get(id)];
    if (rendition === undefined || carried === undefined) return;
    rendition.carries = id;
    const plan = this.#plan.renditions.find((each) => each.id === carrier);
    const { track } = carried;
    rendition.sequence.setTrack({ type: 'track', track, averageBps: plan?.bitrateBps, peakBps: plan?.peakBitrateBps });
  }

  #onPacket(id: RenditionId, packet: Packet): void {
    const rendition = this.#renditions.get(id);
    if (this.#state.type === 'closed' || rendition === undefined) return;
    const { sequence, totals, meter, track } = rendition;
    const isBack = sequence.isInterrupted;
    // A transcoder does not repeat the track of a rendition that has ended and is made again.
    if (sequence.track === undefined && this.#isPlanned(id)) this.#carry(id, id);
    const shed = this.#shed;
    for (const carrier of this.#renditions.keys())
      this.#writePacket(carrier, id, packet, this.#wantedOf(carrier, shed));
    totals.add({ type: 'packet', packet }, track);
    totals.addBytes(packet.data.byteLength);
    rendition.reachedS = packet.dts / track.timescale;
    meter.add(packet.data.byteLength, rendition.reachedS, this.#options.clock.monotonic());
    if (isBack && !sequence.isInterrupted) this.#offer();
  }

  /**
   * Writes a packet into the sequence of a rendition, if it belongs there. A sequence carries the same rendition until a segment begins,
   * and the wanted one from then on.
   * @param id the rendition that the packet belongs to
   */
  #writePacket(carrier: RenditionId, id: RenditionId, packet: Packet, wanted: RenditionId): void {
    const rendition = this.#renditions.get(carrier);
    if (rendition === undefined || (rendition.carries !== id && wanted !== id)) return;
    const { sequence, carries } = rendition;
    if (carries !== wanted && packet.mark !== undefined && packet.mark.ordinal > sequence.ordinal) {
      if (id !== wanted) sequence.interrupt('shed'); // until the wanted rendition reaches this segment, too
      this.#carry(carrier, wanted);
    }
    if (rendition.carries === id) sequence.packet(packet);
  }

  /**
   * The rendition whose packets the sequence of another should contain from the next segment on: its own, or while it is shed, those of the
   * largest smaller one that is made. Players that watch the shed one would not switch to another by themselves.
   */
  #wantedOf(id: RenditionId, shed: readonly RenditionId[]): RenditionId {
    if (!shed.includes(id)) return id;
    const { renditions } = this.#plan;
    const limit = renditions.find((each) => each.id === id);
    let best: RenditionPlan | undefined;
    for (const each of renditions) {
      const isMade = this.#renditions.has(each.id) && !shed.includes(each.id);
      if (!isMade || limit === undefined || areaOf(each) > areaOf(limit)) continue;
      if (best === undefined || areaOf(each) > areaOf(best)) best = each;
    }
    return best?.id ?? id;
  }

  /**
   * How far the stand-in for a rendition has come, in seconds. It takes over where its next segment begins, however late that is received,
   * so no gap may be written beyond this time. Infinite where no packets of a stand-in are to be expected.
   */
  #standInReachesS(id: RenditionId): number {
    const wanted = this.#wantedOf(id, this.#shed);
    const standIn = wanted === id ? undefined : this.#renditions.get(wanted);
    const isRunning = standIn !== undefined && !standIn.sequence.isInterrupted && standIn.sequence.ordinal >= 0;
    return isRunning ? standIn.reachedS : Number.POSITIVE_INFINITY;
  }

  #isPlanned(id: RenditionId): boolean {
    return this.#plan.renditions.some((rendition) => rendition.id === id);
  }

  #onMissing(id: RenditionId, why: GapReason): void {
    if (id === AUDIO_RENDITION) this.#options.onAudioMissing(why);
    for (const { sequence, carries } of this.#renditions.values()) if (carries === id) sequence.interrupt(why);
  }

  #onWarning({ code, renditionId }: TranscoderWarning): void {
    const { warnings } = this.#options;
    switch (code) {
      case 'transcode_rendition_shed':
        this.#warnOfShed();
        break;
      case 'transcode_rendition_restored':
        this.#warnOfShed();
        if (renditionId !== undefined) warnings.raise({ code, renditions: this.#profilesOf([renditionId]) });
        break;
      case 'transcode_rendition_failed':
        if (renditionId !== undefined) this.#leaveOut(renditionId);
        break;
      case 'transcode_source_refused':
        if (this.#audioTrack === undefined) this.#giveUp();
        this.#endRenditions();
        warnings.raise({ code });
        break;
      default:
        warnings.raise({ code });
    }
  }

  #warnOfShed(): void {
    this.#warnOf('transcode_rendition_shed', this.#profilesOf(this.#shed));
    this.#offer();
  }

  #profilesOf(ids: readonly RenditionId[]): readonly string[] {
    return ids.map((id) => this.#plan.renditions.find((rendition) => rendition.id === id)?.profile ?? id);
  }

  /** Raises the warning for exactly these profiles, or clears it. */
  #warnOf(
    code: 'profile_larger_than_source' | 'transcode_rendition_shed' | 'transcode_rendition_failed',
    renditions: readonly string[],
  ): void {
    if (renditions.length > 0) this.#options.warnings.raise({ code, renditions });
    else this.#options.warnings.clear(code);
  }

  #healthOf(id: RenditionId, profile: string, shed: readonly RenditionId[]): RenditionHealth {
    const rendition = this.#renditions.get(id);
    const rates = rendition?.meter.rates(this.#options.clock.monotonic());
    const state = shed.includes(id) ? 'shed' : rates === undefined ? 'waiting' : 'running';
    return { id: profile, state, video: rendition && videoHealth(rendition.track, rates) };
  }
}
