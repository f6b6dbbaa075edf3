/**
 * Logs each gap of a session once it is over, so that whoever sees one in a playlist can find its cause.
 */
import type { Clock } from '#lib/clock.ts';
import type { GapReason, RenditionId, SessionEvent, SessionOutput } from '#media/session-event.ts';
import type { Logger } from '#telemetry/logger.ts';
import { RepeatedLine } from './repeated-line.ts';

interface Gap {
  readonly fromS: number;
  readonly untilS: number;
  readonly why: GapReason;
}

/** A gap as it is logged. */
interface GapFields {
  readonly rendition: RenditionId;
  readonly why: GapReason;
  /** How long it lasted, accurate to a millisecond. */
  readonly seconds: number;
}

/** An output that logs the gaps of each rendition: at most one line a second, with the number of gaps since the line before. */
export class GapLog implements SessionOutput {
  readonly isRequired = false;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #gaps = new Map<RenditionId, Gap>();
  readonly #lines = new Map<RenditionId, RepeatedLine<GapFields>>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  write(id: RenditionId, event: SessionEvent): void {
    // A change of the configuration does not end a gap. The first packet with the new configuration does.
    if (event.type === 'track') return;
    const gap = this.#gaps.get(id);
    const why = event.type === 'gap' ? event.why : undefined;
    if (gap !== undefined && gap.why !== why) this.#tell(id, gap);
    if (event.type === 'gap') {
      const { fromS, untilS } = event;
      this.#gaps.set(id, { fromS: gap?.why === event.why ? gap.fromS : fromS, untilS, why: event.why });
    }
    if (event.type === 'end') this.#lines.delete(id);
  }

  #tell(id: RenditionId, { fromS, untilS, why }: Gap): void {
    this.#gaps.delete(id);
    let line = this.#lines.get(id);
    if (line === undefined) {
      line = new RepeatedLine(this.#clock, (fields) => this.#logger.info(fields, 'media was missing'));
      this.#lines.set(id, line);
    }
    line.happened({ rendition: id, why, seconds: Math.round((untilS - fromS) * 1000) / 1000 });
  }
}
