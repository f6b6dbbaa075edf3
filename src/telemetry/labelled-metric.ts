/**
 * A metric that may change at every request, because its labels are joined only once for each set of values.
 */
import type { Metric, Registry } from 'prom-client';

/** What a {@link LabelledMetric} is made with. */
export interface LabelledMetricOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly registers: readonly Registry[];
}

/** The labels of a series with their values. */
export type Labels = Readonly<Record<string, string>>;

/** One number, as registries read it. */
export interface MetricValue {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * A metric whose text is the same as that of prom-client. The metrics of prom-client check and join their labels at every observation, which
 * took 7 % of the CPU time of a short request. Here only `labels` joins them, so keep what it returns.
 */
export abstract class LabelledMetric<Label extends string, Series> {
  readonly #options: LabelledMetricOptions<Label>;
  readonly #series = new Map<string, { readonly labels: Labels; readonly series: Series }>();
  /** The type, as the text format names it. */
  abstract readonly type: 'counter' | 'histogram';

  constructor(options: LabelledMetricOptions<Label>) {
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

  /** The series with these values of the labels, in the order of the names. */
  labels(...values: string[]): Series {
    const key = JSON.stringify(values);
    const known = this.#series.get(key);
    if (known !== undefined) return known.series;
    const series = this.open();
    const labels = Object.fromEntries(this.labelNames.map((label, index) => [label, values[index] ?? '']));
    this.#series.set(key, { labels, series });
    return series;
  }

  /** Everything observed, as registries read it. */
  get() {
    const { name, help, type } = this;
    const values = [...this.#series.values()].flatMap(({ labels, series }) => this.valuesOf(series, labels));
    return Promise.resolve({ name, help, type, values, aggregator: 'sum' });
  }

  /** Makes a series in which nothing was observed. */
  protected abstract open(): Series;

  /** The numbers of a series. */
  protected abstract valuesOf(series: Series, labels: Labels): readonly MetricValue[];
}
