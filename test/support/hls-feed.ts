/**
 * A publisher for tests of `hls`: writes steady or disturbed packets into a presentation in memory, and keeps the playlists
 * its viewers would have got on the way.
 */

import type { MediaAnswer, PlaylistAnswer, PlaylistDirectives, Presentation, PresentationOptions } from '#hls/hls.ts';
import { createMediaMemory } from '#hls/media-memory.ts';
import { createPresentation } from '#hls/presentation.ts';
import { ms, ticks } from '#lib/units.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import type { AudioTrack, VideoTrack } from '#media/track.ts';
import {
  checkMediaPlaylist,
  checkMultivariant,
  checkPresentation,
  checkRendition,
  type MediaContext,
  type Reload,
} from './hls-rules.ts';

/** As x264 writes it for 1280x720 at 30 frames per second. */
const AVCC = '0164001fffe1001a6764001facd9405005bb0110000003001000000303c0f183196001000668ebe3cb22c0fdf8f800';

/** A track that can be packaged. */
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
    ...changes,
  };
}

/** A stereo AAC-LC track at 44.1 or 48 kHz. */
export function audioTrack(sampleRate: 44_100 | 48_000 = 48_000): AudioTrack {
  return {
    kind: 'audio',
    codec: 'aac',
    timescale: sampleRate,
    config: Buffer.from(sampleRate === 48_000 ? '1190' : '1210', 'hex'),
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
  /** Milliseconds as RTMP has them, or exact ticks. */
  readonly rounded?: boolean;
  /** Presentation time after decoding time, in milliseconds. */
  readonly delayMs?: number;
  readonly video?: VideoTrack | undefined;
  readonly audio?: AudioTrack | undefined;
  readonly frameBytes?: number;
  /** Session time of the first packet, in seconds. */
  readonly startS?: number;
  /** A leading track that was silent for longer does not just go on: without the other one's clock it has jumped. */
  readonly lostAfterS?: number;
  readonly presentation?: Partial<PresentationOptions>;
  /** Called while the presentation has no tracks yet. */
  readonly beforeTracks?: (presentation: Presentation) => void;
}

/** Publishes into a presentation of its own. Cuts segments as `live` does: at keyframes, or else before they get too long. */
export class Feed {
  readonly presentation: Presentation;
  readonly options: PresentationOptions;
  readonly history = new Map<string, Reload[]>();
  firstParts = 0;
  exhausted = 0;
  #feed: Required<Pick<FeedOptions, 'fps' | 'gop' | 'rounded' | 'delayMs' | 'frameBytes' | 'lostAfterS'>>;
  readonly #video: VideoTrack | undefined;
  #audio: AudioTrack | undefined;
  /** Session time, in seconds. */
  #nowS: number;
  /** Where the running stretch of media began, and what was written of it. */
  #stretchS: number;
  /** When the track that decides on cuts last sent something. */
  #leaderS: number;
  #frames = 0;
  #audioPackets = 0;
  #ordinal = -1;
  #segmentS = 0;
  #discontinuity = false;
  #due = true;
  #audioOrdinal = -1;
  #audioDiscontinuity = false;

  constructor({ video, audio, presentation, beforeTracks, startS = 0, ...rest }: FeedOptions) {
    this.#feed = { fps: 30, gop: 60, rounded: true, delayMs: 0, frameBytes: 40, lostAfterS: 1, ...rest };
    this.#video = video;
    this.#audio = audio;
    this.#nowS = startS;
    this.#stretchS = startS;
    this.#leaderS = startS;
    this.options = {
      targetDurationS: 4,
      windowS: 36,
      firstMediaSequence: 0,
      firstDiscontinuitySequence: 0,
      epoch: ms(1_790_000_000_000),
      continued: false,
      uriPrefix: 'path',
      memory: createMediaMemory(2 ** 30),
      memoryUser: { id: 'user', quotaBytes: Number.POSITIVE_INFINITY },
      onFirstPart: () => void this.firstParts++,
      onMemoryExhausted: () => void this.exhausted++,
      ...presentation,
    };
    this.presentation = createPresentation(this.options);
    beforeTracks?.(this.presentation);
    if (video !== undefined) this.presentation.setTrack('source', video, 3_000_000);
    if (audio !== undefined) this.presentation.setTrack('audio', audio, 128_000);
  }

  get nowS(): number {
    return this.#nowS;
  }

  get renditions(): readonly string[] {
    return [...(this.#video ? ['source'] : []), ...(this.#audio ? ['audio'] : [])];
  }

  /** Writes `seconds` of media; a muted track sends nothing meanwhile. */
  play(seconds: number, muted: { video?: boolean; audio?: boolean } = {}): void {
    const untilS = this.#nowS + seconds;
    const leaderMuted = this.#video === undefined ? muted.audio : muted.video;
    // As `live` does: when the leading track comes back after so long, everything begins anew.
    if (!leaderMuted && this.#nowS - this.#leaderS > this.#feed.lostAfterS) this.#resume();
    for (;;) {
      const videoS = this.#video === undefined ? untilS : this.#stretchS + this.#frames / this.#feed.fps;
      const audioS =
        this.#audio === undefined
          ? untilS
          : this.#stretchS + (this.#audioPackets * this.#audio.samplesPerPacket) / this.#audio.sampleRate;
      if (Math.min(videoS, audioS) >= untilS - 1e-9) break;
      if (videoS <= audioS) this.#videoFrame(videoS, muted.video ?? false);
      else this.#audioPacket(audioS, muted.audio ?? false);
    }
    this.#nowS = untilS;
    if (!leaderMuted) this.#leaderS = untilS;
  }

  /** As {@link play}, looking at all playlists about every `everyS` seconds. */
  async watch(seconds: number, muted: { video?: boolean; audio?: boolean } = {}, everyS = 0.15): Promise<void> {
    for (let left = seconds; left > 1e-9; left -= everyS) {
      this.play(Math.min(left, everyS), muted);
      await this.look();
    }
  }

  /** Nobody publishes for a while; then media begins anew, behind a discontinuity. */
  async pause(seconds: number, { paceS = 0.25 } = {}): Promise<void> {
    const untilS = this.#nowS + seconds;
    while (this.#nowS < untilS - 1e-9) {
      this.#nowS = Math.min(untilS, this.#nowS + paceS);
      this.#ordinal = this.presentation.fillGap(this.#nowS) - 1;
      await this.look();
    }
    this.#resume();
  }

  /** Leaves out so many ordinals at the next cut. */
  skipOrdinals(count: number): void {
    this.#ordinal += count;
    this.#restart(this.#nowS + 0.5);
  }

  /** Sends another configuration of a track. */
  reconfigure(track: VideoTrack | AudioTrack): void {
    this.presentation.setTrack(track.kind === 'video' ? 'source' : 'audio', track, undefined);
    if (track.kind === 'audio') this.#audio = track;
    this.#restart(this.#nowS + 0.05);
  }

  /** A packet from before what was written already. */
  late(): void {
    const data = new Uint8Array(10);
    const at = Math.max(0, this.#segmentS - 2);
    const mark = { ordinal: Math.max(0, this.#ordinal), independent: true, discontinuity: false };
    if (this.#video) {
      const dts = ticks(Math.round(at * 90_000));
      this.presentation.write('source', { kind: 'video', dts, pts: dts, keyframe: true, data, mark });
    }
    if (this.#audio) {
      const dts = ticks(Math.round(at * this.#audio.timescale));
      this.presentation.write('audio', { kind: 'audio', dts, pts: dts, keyframe: true, data });
    }
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

  /** A playlist that can be answered at once; undefined when it would be held. */
  async text(rendition: string, directives: PlaylistDirectives = {}): Promise<string | undefined> {
    const answer = await atOnce((signal) => this.presentation.playlist(rendition, directives, { signal }));
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

  /** Every rule broken by what was looked at. */
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

  #resume(): void {
    // Room for the last frame, whose duration was a guess.
    this.#restart(this.#nowS + 0.1);
    this.#ordinal = this.presentation.fillGap(this.#nowS) - 1;
  }

  #restart(atS: number): void {
    this.#leaderS = atS;
    this.#nowS = atS;
    this.#stretchS = atS;
    this.#frames = 0;
    this.#audioPackets = 0;
    this.#discontinuity = true;
    this.#due = true;
  }

  #videoFrame(atS: number, muted: boolean): void {
    const keyframe = this.#frames % this.#feed.gop === 0;
    this.#frames += 1;
    const seconds = this.#rounded(atS);
    if (muted) return;
    const length = seconds - this.#segmentS;
    const frameS = 1 / this.#feed.fps;
    const cut = keyframe
      ? this.#due || length + frameS / 2 >= Math.min(2, this.options.targetDurationS / 2)
      : !this.#due && length + frameS / 2 > this.options.targetDurationS;
    if (this.#due && !cut) return;
    const mark = cut ? this.#cut(seconds, keyframe) : undefined;
    const dts = ticks(Math.round(seconds * 90_000));
    const pts = ticks(Math.round((seconds + this.#feed.delayMs / 1000) * 90_000));
    this.#write('source', { kind: 'video', dts, pts, keyframe, data: new Uint8Array(this.#feed.frameBytes) }, mark);
  }

  #audioPacket(atS: number, muted: boolean): void {
    const track = this.#audio;
    this.#audioPackets += 1;
    if (track === undefined || muted) return;
    const length = atS - this.#segmentS;
    let mark: SegmentMark | undefined;
    const target = Math.min(2, this.options.targetDurationS / 2);
    if (this.#video === undefined && (this.#due || length >= target)) mark = this.#cut(atS, true);
    else if (this.#audioOrdinal < this.#ordinal && !this.#due && atS >= this.#segmentS) {
      mark = { ordinal: this.#ordinal, independent: true, discontinuity: this.#audioDiscontinuity };
    }
    if (this.#due || (mark === undefined && this.#audioOrdinal < this.#ordinal - 1)) return;
    if (mark !== undefined) {
      this.#audioOrdinal = mark.ordinal;
      this.#audioDiscontinuity = false;
    }
    const dts = ticks(Math.round(this.#rounded(atS) * track.timescale));
    this.#write('audio', { kind: 'audio', dts, pts: dts, keyframe: true, data: new Uint8Array(20) }, mark);
  }

  #cut(atS: number, independent: boolean): SegmentMark {
    this.#ordinal += 1;
    const mark = { ordinal: this.#ordinal, independent, discontinuity: this.#discontinuity };
    this.#audioDiscontinuity ||= this.#discontinuity;
    this.#segmentS = atS;
    this.#discontinuity = false;
    this.#due = false;
    return mark;
  }

  #write(rendition: string, packet: Packet, mark: SegmentMark | undefined): void {
    this.presentation.write(rendition, mark === undefined ? packet : { ...packet, mark });
  }

  #rounded(seconds: number): number {
    return this.#feed.rounded ? Math.round(seconds * 1000) / 1000 : seconds;
  }
}

/** What a question is answered with now; undefined when it is held. */
export async function atOnce<Answer>(ask: (signal: AbortSignal) => Promise<Answer>): Promise<Answer | undefined> {
  const controller = new AbortController();
  const held = Symbol('held');
  const answer = ask(controller.signal);
  const first = await Promise.race([answer.catch(() => held), new Promise((resolve) => setImmediate(resolve, held))]);
  controller.abort();
  await answer.catch(() => undefined);
  return first === held ? undefined : (first as Answer);
}
