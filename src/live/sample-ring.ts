/**
 * Keeps the latest health samples of a session in little memory: about 100 bytes each.
 */
import { RENDITION_STATES } from '#domain/health.ts';
import { type HealthSample, MAX_SAMPLED_RENDITIONS } from '#domain/health-sample.ts';
import { ms } from '#lib/units.ts';

/** The number of samples that are kept: 15 minutes. */
const KEPT = 180;
/** How many numbers a sample has. The last two are the number of renditions, and two bits for the state of each. */
const COLUMNS = 14;
const STATE_BITS = 2;

/** The number of samples that there is room for at first. The room grows, because most sessions of a busy server may be short. */
const FIRST_ROOM = 4;

/** Keeps the latest samples of a session. */
export class SampleRing {
  #rows = new Float64Array(0);
  #count = 0;

  /** Adds a sample. When there are too many, the oldest is dropped. Renditions beyond MAX_SAMPLED_RENDITIONS are left out. */
  add(sample: HealthSample): void {
    const { bitrateBps } = sample;
    const renditions = sample.renditions.slice(0, MAX_SAMPLED_RENDITIONS);
    const states = renditions.reduce(
      (bits, state, index) => bits + RENDITION_STATES.indexOf(state) * 2 ** (STATE_BITS * index),
      0,
    );
    const row = [
      sample.at,
      sample.durationMs,
      bitrateBps.min,
      bitrateBps.mean,
      bitrateBps.max,
      sample.framesPerSecond,
      sample.longestGapS,
      sample.keyframeIntervalS ?? Number.NaN,
      sample.speed,
      sample.driftS,
      sample.lagMs ?? Number.NaN,
      sample.viewers,
      renditions.length,
      states,
    ];
    const position = (this.#count % KEPT) * COLUMNS;
    if (position === this.#rows.length) this.#grow();
    this.#rows.set(row, position);
    this.#count += 1;
  }

  /** The samples, the oldest first. */
  list(): readonly HealthSample[] {
    const first = Math.max(0, this.#count - KEPT);
    return Array.from({ length: this.#count - first }, (_, index) => this.#sampleAt((first + index) % KEPT));
  }

  #grow(): void {
    const before = this.#rows;
    this.#rows = new Float64Array(Math.min(KEPT, Math.max(FIRST_ROOM, 2 * this.#count)) * COLUMNS);
    this.#rows.set(before);
  }

  #sampleAt(position: number): HealthSample {
    const row = this.#rows.subarray(position * COLUMNS, (position + 1) * COLUMNS);
    const column = (index: number): number => row[index]!;
    const optional = (index: number): number | undefined => (Number.isNaN(column(index)) ? undefined : column(index));
    const stateOf = (index: number) =>
      RENDITION_STATES[Math.floor(column(13) / 2 ** (STATE_BITS * index)) % 2 ** STATE_BITS] ?? 'waiting';
    return {
      at: ms(column(0)),
      durationMs: column(1),
      bitrateBps: { min: column(2), mean: column(3), max: column(4) },
      framesPerSecond: column(5),
      longestGapS: column(6),
      keyframeIntervalS: optional(7),
      speed: column(8),
      driftS: column(9),
      lagMs: optional(10),
      viewers: column(11),
      renditions: Array.from({ length: column(12) }, (_, index) => stateOf(index)),
    };
  }
}
