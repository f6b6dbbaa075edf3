/**
 * A histogram of durations that are observed at every request.
 */
import { LabelledMetric, type LabelledMetricOptions, type Labels, type MetricValue } from './labelled-metric.ts';

/** What {@link Durations} is made with. The name ends with `_seconds`. */
export interface DurationsOptions<Label extends string> extends LabelledMetricOptions<Label> {
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[];
}

/** Counts durations with one set of labels. */
export interface DurationObserver {
  /** Counts one duration. */
  observe(seconds: number): void;
}

/** The durations with one set of labels. */
class Series implements DurationObserver {
  readonly #bounds: readonly number[];
  /** The number of durations in each bucket that are in no lower bucket. The last bucket has no bound. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  observe(seconds: number): void {
    let index = 0;
    while (index < this.#bounds.length && seconds > this.#bounds[index]!) index += 1;
    this.counts[index]! += 1;
    this.sum += seconds;
  }
}

/** A histogram with labels. */
export class Durations<Label extends string> extends LabelledMetric<Label, Series> {
  readonly type = 'histogram';
  readonly #buckets: readonly number[];

  constructor(options: DurationsOptions<Label>) {
    super(options);
    this.#buckets = options.buckets;
  }

  protected override open(): Series {
    return new Series(this.#buckets);
  }

  protected override valuesOf({ counts, sum }: Series, labels: Labels): readonly MetricValue[] {
    const { name } = this;
    let count = 0;
    const ofBuckets = counts.map((each, index) => {
      count += each;
      return {
        metricName: `${name}_bucket`,
        labels: { le: this.#buckets[index] ?? '+Inf', ...labels },
        value: count,
      };
    });
    return [
      ...ofBuckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
