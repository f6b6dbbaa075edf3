/**
 * Tests what viewers get of a rendition that is shed and made again. Playlists must keep every rule, however far the transcoder lags.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Profile } from '#domain/profile.ts';
import type { VideoEvent } from '#transcode/feed.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import type { Transcoder, TranscoderStats } from '#transcode/transcoder.ts';
import type { TranscodeRequest } from '#transcode/transcoder-pool.ts';
import { audioTrack, Feed, videoTrack } from '../support/hls-feed.ts';
import { readMediaPlaylist } from '../support/hls-playlist.ts';

const LARGE: Profile = { name: 'large', width: 960, height: 540, fps: 0, bitrate: 1_500_000 };
const SMALL: Profile = { name: 'small', width: 640, height: 360, fps: 0, bitrate: 500_000 };
const IDS = ['large', 'small'];

/** A transcoder that hands out the frames of its source unchanged. The test says how far it has come and what is shed. */
class FollowingTranscoder implements Transcoder {
  shed: readonly string[] = [];
  readonly #callbacks: TranscodeRequest['callbacks'];
  readonly #profiles: readonly Profile[];
  #waiting: VideoEvent[] = [];
  /** The renditions that are made: each from the first start of a segment at which it is not shed. */
  readonly #running = new Set<string>();

  constructor({ callbacks, profiles }: TranscodeRequest) {
    this.#callbacks = callbacks;
    this.#profiles = profiles;
  }

  get stats(): TranscoderStats {
    return { shed: this.shed } as unknown as TranscoderStats;
  }

  setTrack(track: Parameters<Transcoder['setTrack']>[0]) {
    return planRenditions(this.#profiles, track);
  }

  setAudioTrack(): void {}

  flush(): void {}

  write(event: VideoEvent): void {
    this.#waiting.push(event);
  }

  /** Announces the tracks, each with a configuration of its own. */
  announce(): void {
    for (const { name, width, height } of [LARGE, SMALL]) {
      const { config } = videoTrack();
      const own = Uint8Array.from(config);
      own[3] = name === 'large' ? 30 : 29; // AVCLevelIndication
      this.#callbacks.onTrack(name, videoTrack({ config: own, width, height, codedWidth: width, codedHeight: height }));
    }
  }

  /** Hands out the packets of the source that are decoded before `untilS`, in seconds. */
  handOut(untilS: number): void {
    for (;;) {
      const first = this.#waiting[0];
      if (first?.type !== 'packet' || first.packet.dts / 90_000 >= untilS) return;
      this.#waiting.shift();
      const { mark, ...packet } = first.packet;
      for (const id of IDS) {
        if (this.shed.includes(id)) this.#running.delete(id);
        else if (mark !== undefined) this.#running.add(id);
        if (!this.#running.has(id)) continue;
        const marked = mark && { mark: { ...mark, independent: true } };
        this.#callbacks.onPacket(id, { ...packet, keyframe: mark !== undefined, ...marked });
      }
    }
  }

  shedLarge(): void {
    this.shed = ['large'];
    this.#callbacks.onMissing('large', 'shed');
    this.#callbacks.onWarning({ code: 'transcode_rendition_shed', renditionId: 'large' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.handOut(Number.POSITIVE_INFINITY);
  }
}

describe('a rendition that is shed, and made again', () => {
  for (const lagS of [0.3, 1.2, 1.6, 2.7]) {
    test(`shows its stand-in from the next segment on, and keeps every rule, with a lag of ${lagS} s`, async () => {
      let transcoder: FollowingTranscoder | undefined;
      const feed = new Feed({
        video: videoTrack(),
        audio: audioTrack(),
        profiles: [LARGE, SMALL],
        delayMs: 67,
        startS: 1,
        openTranscoder: (request) => (transcoder ??= new FollowingTranscoder(request)),
      });
      transcoder!.announce();
      /** The longest time for which the playlist of the large rendition did not change, in seconds. */
      let stoodStillS = 0;
      let changedS = 0;
      let before = '';
      const watch = async (seconds: number) => {
        for (const untilS = feed.nowS + seconds; feed.nowS < untilS - 1e-9; ) {
          feed.play(0.1);
          transcoder!.handOut(feed.nowS - lagS);
          await feed.look();
          const text = (await feed.text('large')) ?? '';
          if (text !== before) changedS = feed.nowS;
          before = text;
          if (text !== '') stoodStillS = Math.max(stoodStillS, feed.nowS - changedS);
        }
      };
      await watch(10.4);
      transcoder!.shedLarge();
      await watch(9);
      transcoder!.shed = [];
      await watch(9);
      assert.deepEqual(await feed.violations({ stepS: lagS + 1.5 }), []);
      assert.ok(stoodStillS < 1.5, `its playlist stood still for ${stoodStillS} s`);
      const { segments } = readMediaPlaylist(before);
      const maps = segments.map(({ map }) => map);
      assert.equal(
        maps.filter((map, index) => map !== maps[index - 1]).length,
        3,
        'its own, the other, and its own again',
      );
      assert.ok(segments.every(({ discontinuity }) => !discontinuity));
      await feed.session.end();
    });
  }
});
