/**
 * A counter that grows at every request.
 */
import { LabelledMetric, type Labels, type MetricValue } from './labelled-metric.ts';

/** The count for one set of labels. */
export class Count {
  value = 0;

  /** Counts one more. */
  inc(): void {
    this.value += 1;
  }
}

/** A counter with labels. */
export class Counts<Label extends string> extends LabelledMetric<Label, Count> {
  readonly type = 'counter';

  protected override open(): Count {
    return new Count();
  }

  protected override valuesOf({ value }: Count, labels: Labels): readonly MetricValue[] {
    return [{ labels, value }];
  }
}
