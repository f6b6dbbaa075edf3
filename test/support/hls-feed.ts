/**
 * A publisher for tests of `hls`. It publishes steady or disturbed media into a presentation in memory, and keeps the playlists that
 * viewers would get on the way.
 */
import assert from 'node:assert/strict';
import { newStreamId, newUserId } from '#domain/ids.ts';
import type { Profile } from '#domain/profile.ts';
import type { MediaAnswer, PlaylistAnswer, PlaylistDirectives, Presentation, PresentationOptions } from '#hls/hls.ts';
import { createMediaMemory } from '#hls/media-memory.ts';
import { createPresentation } from '#hls/presentation.ts';
import { ms, ticks } from '#lib/units.ts';
import { SessionMedia } from '#live/session-media.ts';
import { SessionWarnings } from '#live/session-warnings.ts';
import type { OpenTranscoder } from '#live/transcoded-renditions.ts';
import type { AudioTrack, VideoTrack } from '#media/track.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import {
  checkMediaPlaylist,
  checkMultivariant,
  checkPresentation,
  checkRendition,
  type MediaContext,
  type Reload,
} from './hls-rules.ts';
import { AUDIO_ID, tracksById, VIDEO_ID } from './tracks.ts';

/** As x264 writes it for 1280x720 at 30 frames per second. */
const AVCC = '0164001fffe1001a6764001facd9405005bb0110000003001000000303c0f183196001000668ebe3cb22c0fdf8f800';

/** A video track that can be packaged. */
export function videoTrack(changes: Partial<VideoTrack> = {}): VideoTrack {
  return {
    kind: 'video',
    codec: 'h264',
    timescale: 90_000,
    config: Buffer.from(AVCC, 'hex'),
    codecString: 'avc1.64001f',
    width: 1280,
    height: 720,
    codedWidth: 1280,
    codedHeight: 720,
    declaredFrameRate: undefined,
    videoRange: undefined,
    reorderedFrames: undefined,
    ...changes,
  };
}

/** AudioSpecificConfig of AAC-LC in stereo, by sample rate. */
const AUDIO_CONFIGS = { 7350: '1610', 8000: '1590', 44100: '1210', 48000: '1190' } as const;

/** A stereo AAC-LC track. */
export function audioTrack(sampleRate: keyof typeof AUDIO_CONFIGS = 48_000): AudioTrack {
  return {
    kind: 'audio',
    codec: 'aac',
    timescale: sampleRate,
    config: Buffer.from(AUDIO_CONFIGS[sampleRate], 'hex'),
    codecString: 'mp4a.40.2',
    sampleRate,
    channels: 2,
    samplesPerPacket: 1024,
  };
}

/** What is published. */
export interface FeedOptions {
  readonly fps?: number;
  /** Frames from keyframe to keyframe. */
  readonly gop?: number;
  /** Whether times are rounded to milliseconds, as in RTMP. Otherwise they are exact ticks. */
  readonly rounded?: boolean;
  /** How long after its decoding time each frame is presented, in milliseconds. */
  readonly delayMs?: number;
  /** How long after the video of the same time the audio is sent, in seconds. Negative when the audio is sent first. */
  readonly audioLateS?: number;
  readonly video?: VideoTrack | undefined;
  readonly audio?: AudioTrack | undefined;
  readonly frameBytes?: number;
  /** Session time of the first packet, in seconds. */
  readonly startS?: number;
  /** The profiles of the session. Its renditions have their names. */
  readonly profiles?: readonly Profile[];
  readonly openTranscoder?: OpenTranscoder;
  readonly presentation?: Partial<PresentationOptions>;
  /** Called while the presentation has no tracks yet. */
  readonly beforeTracks?: (presentation: Presentation) => void;
}

/** Publishes through the media of a session, whose clock it moves, into a presentation of its own. */
export class Feed {
  readonly presentation: Presentation;
  readonly session: SessionMedia;
  readonly options: PresentationOptions;
  readonly history = new Map<string, Reload[]>();
  firstParts = 0;
  exhausted = 0;
  #feed: Required<Pick<FeedOptions, 'fps' | 'gop' | 'rounded' | 'delayMs' | 'audioLateS' | 'frameBytes'>>;
  readonly #video: VideoTrack | undefined;
  readonly #profiles: readonly Profile[];
  #audio: AudioTrack | undefined;
  /** Session time, in seconds. */
  #nowS: number;
  /** Where the current stretch of media began, and how much of it was published. */
  #stretchS: number;
  #frames = 0;
  #audioPackets = 0;

  constructor({
    video,
    audio,
    profiles = [],
    openTranscoder = () => 'unavailable',
    presentation,
    beforeTracks,
    startS = 0,
    ...rest
  }: FeedOptions) {
    this.#feed = { fps: 30, gop: 60, rounded: true, delayMs: 0, audioLateS: 0, frameBytes: 40, ...rest };
    this.#video = video;
    this.#profiles = profiles;
    this.#audio = audio;
    this.#nowS = startS;
    this.#stretchS = startS;
    this.options = {
      targetDurationS: 4,
      windowS: 36,
      firstMediaSequence: 0,
      firstDiscontinuitySequence: 0,
      epoch: ms(1_790_000_000_000),
      profiles,
      continued: false,
      uriPrefix: 'path',
      memory: createMediaMemory(2 ** 30),
      memoryUser: { id: 'user', quotaBytes: Number.POSITIVE_INFINITY },
      onFirstPart: () => void this.firstParts++,
      onMemoryExhausted: () => void this.exhausted++,
      onSinkFailed: () => {},
      ...presentation,
    };
    this.presentation = createPresentation(this.options);
    beforeTracks?.(this.presentation);
    const clock = { now: () => ms(this.#nowS * 1000), monotonic: () => ms(this.#nowS * 1000) };
    const { targetDurationS, continued } = this.options;
    this.session = new SessionMedia({
      owner: { userId: newUserId(), streamId: newStreamId() },
      profiles,
      openTranscoder,
      targetDurationS,
      continued,
      startedAt: 0,
      warnings: new SessionWarnings({ clock, metrics: createMetrics() }),
      clock,
      logger: silentLogger,
      onStart: () => {},
      onUnusableTimestamps: () => assert.fail('unusable timestamps'),
      onOffered: (ids) => this.presentation.offer(ids),
      onOutputFailed: (_, error) => {
        throw error;
      },
    });
    this.session.attach(this.presentation);
    const tracks = [video, audio].filter((track) => track !== undefined);
    const bitrates = { videoBitrateBps: 3_000_000, audioBitrateBps: 128_000 };
    this.session.publish(tracksById(...tracks), { kinds: new Set(), encoder: undefined, ...bitrates });
  }

  get nowS(): number {
    return this.#nowS;
  }

  get renditions(): readonly string[] {
    const ofProfiles = this.#profiles.map(({ name }) => name);
    return [...(this.#video ? ['source'] : []), ...(this.#audio ? ['audio'] : []), ...ofProfiles];
  }

  /** Publishes `seconds` of media; a muted track sends nothing meanwhile. */
  play(seconds: number, muted: { video?: boolean; audio?: boolean } = {}): void {
    const untilS = this.#nowS + seconds;
    for (;;) {
      const videoS =
        this.#video === undefined ? Number.POSITIVE_INFINITY : this.#stretchS + this.#frames / this.#feed.fps;
      const audioS =
        this.#audio === undefined
          ? Number.POSITIVE_INFINITY
          : this.#stretchS + (this.#audioPackets * this.#audio.samplesPerPacket) / this.#audio.sampleRate;
      const audioSentS = audioS + this.#feed.audioLateS;
      if (Math.min(videoS, audioSentS) >= untilS - 1e-9) break;
      this.#nowS = Math.max(this.#nowS, Math.min(videoS, audioSentS));
      if (videoS <= audioSentS) this.#videoFrame(videoS, muted.video ?? false);
      else this.#audioPacket(audioS, muted.audio ?? false);
    }
    this.#nowS = untilS;
    this.session.pace();
  }

  /** Does what {@link play} does, and reads all playlists about every `everyS` seconds. */
  async watch(seconds: number, muted: { video?: boolean; audio?: boolean } = {}, everyS = 0.15): Promise<void> {
    for (let left = seconds; left > 1e-9; left -= everyS) {
      this.play(Math.min(left, everyS), muted);
      await this.look();
    }
  }

  /** Publishes nothing for a while, and then media after a discontinuity. @param options.unpacedS time since the session was last paced */
  async pause(seconds: number, { paceS = 0.25, unpacedS = 0 } = {}): Promise<void> {
    this.session.stop();
    const untilS = this.#nowS + seconds;
    while (this.#nowS < untilS - 1e-9) {
      this.#nowS = Math.min(untilS, this.#nowS + paceS);
      this.session.pace();
      await this.look();
    }
    this.#restart(this.#nowS + unpacedS);
  }

  /** Sends another configuration of a track. */
  reconfigure(track: VideoTrack | AudioTrack): void {
    if (track.kind === 'audio') this.#audio = track;
    this.session.setTrack(track.kind === 'video' ? VIDEO_ID : AUDIO_ID, track);
    this.#restart(this.#nowS + 0.05);
  }

  /** Publishes with other times between frames and keyframes, as an encoder with other settings that has just begun. */
  changeRate(rate: Required<Pick<FeedOptions, 'fps' | 'gop'>>): void {
    this.#feed = { ...this.#feed, ...rate };
    this.#restart(this.#nowS);
  }

  /** Adds the playlists as they are now to the history, each with its delta update. */
  async look(): Promise<void> {
    for (const rendition of this.renditions) {
      const text = await this.text(rendition);
      const delta = await this.text(rendition, { skip: true });
      if (text === undefined || delta === undefined) continue;
      const seen = this.history.get(rendition) ?? [];
      if (seen.at(-1)?.text !== text) this.history.set(rendition, [...seen, { text, delta }]);
    }
  }

  /** A playlist that can be answered at once. Undefined when the request would be held. */
  async text(rendition: string, directives: PlaylistDirectives = {}): Promise<string | undefined> {
    const answer = await atOnce((signal) =>
      this.presentation.playlist(rendition, { msn: 0, part: 0, ...directives }, { signal }),
    );
    return answer?.type === 'playlist' ? answer.playlist.text : undefined;
  }

  /** A resource that can be answered at once. */
  async media(rendition: string, name: string): Promise<MediaAnswer | undefined> {
    return await atOnce((signal) => this.presentation.media(rendition, name, { signal }));
  }

  /** The multivariant playlist, if it can be answered at once. */
  async multivariant(): Promise<string | undefined> {
    const answer = await atOnce<PlaylistAnswer>((signal) => this.presentation.multivariant({ signal }));
    return answer?.type === 'playlist' ? answer.playlist.text : undefined;
  }

  /** Every rule that is broken by the playlists that were read. */
  async violations(context: MediaContext & { stepS?: number } = {}): Promise<readonly string[]> {
    const found: string[] = [];
    const latest = new Map<string, string>();
    for (const [rendition, reloads] of this.history) {
      const others = this.renditions.filter((each) => each !== rendition).map((each) => `${each}.m3u8`);
      const note = (violations: readonly { rule: string; found: string }[]) => {
        for (const each of violations) found.push(`${rendition} ${each.rule}: ${each.found}`);
      };
      for (const { text } of reloads) note(checkMediaPlaylist(text, { others, ...context }));
      note(checkRendition(reloads));
      latest.set(rendition, reloads.at(-1)?.text ?? '');
    }
    for (const { rule, found: what } of checkPresentation(latest, context)) found.push(`${rule}: ${what}`);
    for (const { rule, found: what } of checkMultivariant((await this.multivariant()) ?? ''))
      found.push(`${rule}: ${what}`);
    return [...new Set(found)];
  }

  #restart(atS: number): void {
    this.#nowS = atS;
    this.#stretchS = atS;
    this.#frames = 0;
    this.#audioPackets = 0;
  }

  #videoFrame(atS: number, muted: boolean): void {
    const keyframe = this.#frames % this.#feed.gop === 0;
    this.#frames += 1;
    if (muted) return;
    const seconds = this.#rounded(atS);
    const dts = ticks(Math.round(seconds * 90_000));
    const pts = ticks(Math.round((seconds + this.#feed.delayMs / 1000) * 90_000));
    const data = new Uint8Array(this.#feed.frameBytes);
    this.session.write(VIDEO_ID, { kind: 'video', dts, pts, keyframe, data });
  }

  #audioPacket(atS: number, muted: boolean): void {
    const track = this.#audio;
    this.#audioPackets += 1;
    if (track === undefined || muted) return;
    const dts = ticks(Math.round(this.#rounded(atS) * track.timescale));
    this.session.write(AUDIO_ID, { kind: 'audio', dts, pts: dts, keyframe: true, data: new Uint8Array(20) });
  }

  #rounded(seconds: number): number {
    return this.#feed.rounded ? Math.round(seconds * 1000) / 1000 : seconds;
  }
}

/** The answer to a request now. Undefined when the request is held. */
export async function atOnce<Answer>(ask: (signal: AbortSignal) => Promise<Answer>): Promise<Answer | undefined> {
  const controller = new AbortController();
  const held = Symbol('held');
  const answer = ask(controller.signal);
  const first = await Promise.race([answer.catch(() => held), new Promise((resolve) => setImmediate(resolve, held))]);
  controller.abort();
  await answer.catch(() => undefined);
  return first === held ? undefined : (first as Answer);
}
