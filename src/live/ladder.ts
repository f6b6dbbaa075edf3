/**
 * The transcoded renditions of one session: feeds the transcoder and hands what it makes to the presentation.
 */
import type { Profile } from '#domain/profile.ts';
import type { Presentation } from '#hls/hls.ts';
import type { Packet } from '#media/packet.ts';
import { sameTrack, type VideoTrack } from '#media/track.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { Transcoder, TranscoderCallbacks } from '#transcode/transcoder.ts';

/** Gives a session its transcoder; undefined when this process runs as many as it may. */
export type OpenTranscoder = (request: {
  readonly profiles: readonly Profile[];
  readonly callbacks: TranscoderCallbacks;
  readonly logger: Logger;
}) => Transcoder | undefined;

/** What a ladder is made with. */
export interface LadderOptions {
  readonly profiles: readonly Profile[];
  readonly presentation: Presentation;
  readonly openTranscoder: OpenTranscoder;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A session's ladder; without profiles, or beyond the limit of transcodes, it makes nothing. */
export class Ladder implements AsyncDisposable {
  readonly #options: LadderOptions;
  #transcoder: Transcoder | undefined;
  #refused = false;
  #track: VideoTrack | undefined;
  #bitrates = new Map<string, number>();
  #thumbnail: Uint8Array | undefined;
  #closed = false;

  constructor(options: LadderOptions) {
    this.#options = options;
  }

  /** The newest picture as a JPEG; undefined before the first. */
  get thumbnail(): Uint8Array | undefined {
    return this.#thumbnail;
  }

  /** The video's configuration: at its beginning, and when it changed. */
  setTrack(track: VideoTrack): void {
    const { profiles, presentation, logger } = this.#options;
    if (profiles.length === 0 || (this.#track !== undefined && sameTrack(this.#track, track))) return;
    this.#track = track;
    this.#transcoder ??= this.#open();
    if (this.#transcoder === undefined) return;
    const { renditions, leftOut } = this.#transcoder.setTrack(track);
    this.#bitrates = new Map(renditions.map(({ id, bitrateBps }) => [id, bitrateBps]));
    presentation.expect(renditions.map(({ id }) => id));
    if (leftOut.length > 0) logger.info({ leftOut }, 'profiles larger than the source are left out');
  }

  /** The next video packet, marked, in session time. */
  write(packet: Packet): void {
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

  #open(): Transcoder | undefined {
    if (this.#refused) return undefined;
    const { profiles, presentation, openTranscoder, logger, metrics } = this.#options;
    const transcoder = openTranscoder({
      profiles,
      logger,
      callbacks: {
        onTrack: (id, track) => presentation.setTrack(id, track, this.#bitrates.get(id)),
        onPacket: (id, packet) => {
          if (!this.#closed) presentation.write(id, packet);
        },
        onThumbnail: (jpeg) => {
          this.#thumbnail = jpeg;
        },
        // The transcoder logs what it warns of itself.
        onWarning: ({ code }) => metrics.warnings.inc({ code }),
        onRestart: () => metrics.warnings.inc({ code: 'transcode_restarted' }),
      },
    });
    if (transcoder === undefined) {
      this.#refused = true;
      metrics.warnings.inc({ code: 'transcode_limit_reached' });
      logger.warn(
        { code: 'transcode_limit_reached' },
        'source rendition only: this server transcodes as much as it may',
      );
    }
    return transcoder;
  }
}
