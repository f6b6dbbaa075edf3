/**
 * A histogram of durations that are observed at every request.
 */
import type { Metric, Registry } from 'prom-client';

/** What {@link Durations} is made with. */
export interface DurationsOptions<Label extends string> {
  /** Ends with `_seconds`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[];
  readonly registers: readonly Registry[];
}

/** Counts durations with one set of labels. */
export interface DurationObserver {
  /** Counts one duration. */
  observe(seconds: number): void;
}

/** One number, as registries read it. */
interface MetricValue {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** The durations with one set of labels. */
class Series implements DurationObserver {
  readonly labels: Readonly<Record<string, string>>;
  readonly #bounds: readonly number[];
  /** The number of durations in each bucket that are in no lower bucket. The last bucket has no bound. */
  readonly counts: number[];
  sum = 0;

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.labels = labels;
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

/**
 * A histogram whose metrics have the same text as those of prom-client. The histogram of prom-client checks and joins its labels again at
 * every observation, which was 7 % of the CPU time of a short request. Here `labels` joins them, so keep what it returns.
 */
export class Durations<Label extends string> {
  readonly #options: DurationsOptions<Label>;
  readonly #series = new Map<string, Series>();

  constructor(options: DurationsOptions<Label>) {
    this.#options = options;
    // Registries call nothing but `get`. The reference of metrics reads the name, help, labels and type.
    for (const registry of options.registers) registry.registerMetric(this as unknown as Metric);
  }

  get name(): string {
    return this.#options.name;
  }

  get help(): string {
    return this.#options.help;
  }

  get labelNames(): readonly Label[] {
    return this.#options.labelNames;
  }

  get type(): 'histogram' {
    return 'histogram';
  }

  /** The observer of the durations with these values of the labels, in the order of the names. */
  labels(...values: string[]): DurationObserver {
    const key = JSON.stringify(values);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const { labelNames, buckets } = this.#options;
    const series = new Series(
      Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? ''])),
      buckets,
    );
    this.#series.set(key, series);
    return series;
  }

  /** Everything observed, as registries read it. */
  get() {
    const { name, help } = this.#options;
    const values = [...this.#series.values()].flatMap((series) => this.#valuesOf(series));
    return Promise.resolve({ name, help, type: this.type, values, aggregator: 'sum' });
  }

  #valuesOf({ labels, counts, sum }: Series): readonly MetricValue[] {
    const { name, buckets } = this.#options;
    let count = 0;
    const ofBuckets = counts.map((each, index) => {
      count += each;
      return { metricName: `${name}_bucket`, labels: { le: buckets[index] ?? '+Inf', ...labels }, value: count };
    });
    return [
      ...ofBuckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
