/**
 * Measures the media that the publisher sends.
 */
import type { Rates, SourceHealth } from '#domain/health.ts';
import type { Clock } from '#lib/clock.ts';
import type { Packet } from '#media/packet.ts';
import type { TrackId } from '#media/track.ts';
import { type Arrival, ArrivalMeter } from './arrival-meter.ts';
import { audioHealth, videoHealth } from './health.ts';
import { type KeyframeInterval, KeyframeMeter } from './keyframe-meter.ts';
import { RateMeter } from './rate-meter.ts';
import type { SelectedTrack, SelectedTracks } from './track-selection.ts';

/** The meters of one session's source. */
export class SourceMeter {
  readonly #clock: Clock;
  readonly #rates = new Map<TrackId, RateMeter>();
  readonly #keyframes = new KeyframeMeter();
  readonly #arrival = new ArrivalMeter();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The longest of the latest keyframe intervals, including the growing one. */
  get keyframeInterval(): KeyframeInterval {
    return this.#keyframes.longest;
  }

  /** Takes the next packet of a track, in session time. @param isLeader whether the track is the one that others follow */
  add({ id, track }: SelectedTrack, packet: Packet, isLeader: boolean): void {
    let meter = this.#rates.get(id);
    if (meter === undefined) {
      meter = new RateMeter();
      this.#rates.set(id, meter);
    }
    const mediaS = packet.dts / track.timescale;
    const now = this.#clock.monotonic();
    const sizeBytes = packet.data.byteLength;
    meter.add(sizeBytes, mediaS, now);
    this.#arrival.add({ sizeBytes, leadS: isLeader ? mediaS : undefined }, now);
    if (track.kind === 'video') this.#keyframes.add(packet.keyframe, mediaS);
  }

  /** Restarts the measurement, after a jump or with a publisher that came back. */
  restart(): void {
    this.#keyframes.restart();
    this.#arrival.restart();
  }

  /** What arrived since the last call, and the interval between keyframes. Undefined before the first packet. */
  takeArrival(): (Arrival & { readonly keyframeIntervalS: number | undefined }) | undefined {
    const arrival = this.#arrival.take(this.#clock.monotonic());
    return arrival && { ...arrival, keyframeIntervalS: this.#keyframes.intervalS };
  }

  /** Bytes per second of all tracks together. 0 while nothing is received. */
  get bytesPerSecond(): number {
    let bps = 0;
    for (const id of this.#rates.keys()) bps += this.#ratesOf(id)?.bitrateBps ?? 0;
    return bps / 8;
  }

  /** The measured health of the selected tracks. */
  health({ video, audio }: SelectedTracks): SourceHealth {
    return {
      video: video && {
        ...videoHealth(video.track, this.#ratesOf(video.id)),
        keyframeIntervalS: this.#keyframes.intervalS,
      },
      audio: audio && audioHealth(audio.track, this.#ratesOf(audio.id)),
    };
  }

  #ratesOf(id: TrackId): Rates | undefined {
    return this.#rates.get(id)?.rates(this.#clock.monotonic());
  }
}
