/**
 * The transcoders of this process, and how many there may be.
 */
import type { Profile } from '#domain/profile.ts';
import type { Clock } from '#lib/clock.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { TranscodeSettings } from './config.ts';
import { ProcessTranscoder } from './process-transcoder.ts';
import type { Transcoder, TranscoderCallbacks } from './transcoder.ts';

/** What one session asks for. */
export interface TranscodeRequest {
  readonly profiles: readonly Profile[];
  readonly callbacks: TranscoderCallbacks;
  /** With the session's ids. */
  readonly logger: Logger;
}

/** Hands out transcoders up to the operator's limit. */
export class TranscoderPool {
  readonly #settings: TranscodeSettings;
  readonly #clock: Clock;
  #count = 0;

  constructor({ settings, clock }: { readonly settings: TranscodeSettings; readonly clock: Clock }) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Transcoders handed out and not disposed yet. */
  get count(): number {
    return this.#count;
  }

  /** A transcoder, the caller's to dispose; undefined when there are as many as may be. */
  open(request: TranscodeRequest): Transcoder | undefined {
    if (this.#count >= this.#settings.maxTranscodes) return undefined;
    this.#count += 1;
    const transcoder = new ProcessTranscoder({ ...request, settings: this.#settings, clock: this.#clock });
    let disposal: Promise<void> | undefined;
    const dispose = async () => {
      await transcoder[Symbol.asyncDispose]();
      this.#count -= 1;
    };
    return {
      setTrack: (track) => transcoder.setTrack(track),
      setAudioTrack: (track) => transcoder.setAudioTrack(track),
      write: (packet) => transcoder.write(packet),
      flush: () => transcoder.flush(),
      get stats() {
        return transcoder.stats;
      },
      [Symbol.asyncDispose]: () => {
        disposal ??= dispose();
        return disposal;
      },
    };
  }
}
