/**
 * Measures what the publisher sends.
 */
import type { Clock } from '#lib/clock.ts';
import type { Packet } from '#media/packet.ts';
import type { Track, TrackKind } from '#media/track.ts';
import { audioHealth, type SourceHealth, videoHealth } from './health.ts';
import { type KeyframeInterval, KeyframeMeter } from './keyframe-meter.ts';
import { RateMeter } from './rate-meter.ts';

/** The meters of one session's source. */
export class SourceMeter {
  readonly #clock: Clock;
  readonly #rates: Record<TrackKind, RateMeter> = { video: new RateMeter(), audio: new RateMeter() };
  readonly #keyframes = new KeyframeMeter();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The longest keyframe interval of late, the growing one included. */
  get keyframeInterval(): KeyframeInterval {
    return this.#keyframes.longest;
  }

  /** The next packet of a track, in session time. */
  add(packet: Packet, track: Track): void {
    const mediaS = packet.dts / track.timescale;
    this.#rates[track.kind].add(packet.data.byteLength, mediaS, this.#clock.monotonic());
    if (track.kind === 'video') this.#keyframes.add(packet.keyframe, mediaS);
  }

  /** Media starts again: behind a jump, or with a publisher that came back. */
  restart(): void {
    this.#keyframes.restart();
  }

  /** Bytes a second of all tracks together; 0 while nothing comes. */
  get bytesPerSecond(): number {
    const now = this.#clock.monotonic();
    const bps = (meter: RateMeter) => meter.rates(now)?.bitrateBps ?? 0;
    return (bps(this.#rates.video) + bps(this.#rates.audio)) / 8;
  }

  /** What was measured of these tracks. */
  health(tracks: Iterable<Track>): SourceHealth {
    let health: SourceHealth = { video: undefined, audio: undefined };
    for (const track of tracks) {
      const rates = this.#rates[track.kind].rates(this.#clock.monotonic());
      if (track.kind === 'audio') health = { ...health, audio: audioHealth(track, rates) };
      else {
        const keyframeIntervalS = this.#keyframes.intervalS;
        health = { ...health, video: { ...videoHealth(track, rates), keyframeIntervalS } };
      }
    }
    return health;
  }
}
