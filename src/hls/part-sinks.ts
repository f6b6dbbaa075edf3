/**
 * Passes packaged media to sinks, so that none of them can break the presentation.
 */
import type { RenditionId } from '#media/session-event.ts';
import type { Packaged, PartSink } from './hls.ts';

interface Attached {
  readonly sink: PartSink;
  /** The renditions of which this sink has received the beginning of a segment. */
  readonly begun: Set<RenditionId>;
}

/** The sinks of one presentation. */
export class PartSinks {
  readonly #onFailure: (error: unknown) => void;
  #attached: readonly Attached[] = [];

  /** @param onFailure called with the error that a sink threw, after it was detached */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Attaches a sink. Disposing the result detaches it. @param inits the current init segments, each with its rendition */
  attach(sink: PartSink, inits: Iterable<readonly [RenditionId, Packaged]>): Disposable {
    const attached = { sink, begun: new Set<RenditionId>() };
    this.#attached = [...this.#attached, attached];
    for (const [id, init] of inits) this.#hand(attached, id, init);
    return { [Symbol.dispose]: () => this.#detach(attached) };
  }

  /** Passes what was packaged of a rendition to every sink. */
  write(id: RenditionId, packaged: Packaged): void {
    for (const attached of this.#attached) {
      if (packaged.type === 'segment_start') attached.begun.add(id);
      if (packaged.type === 'init' || attached.begun.has(id)) this.#hand(attached, id, packaged);
    }
  }

  #hand(attached: Attached, id: RenditionId, packaged: Packaged): void {
    try {
      attached.sink.write(id, packaged);
    } catch (error) {
      this.#detach(attached);
      this.#onFailure(error);
    }
  }

  #detach(attached: Attached): void {
    this.#attached = this.#attached.filter((each) => each !== attached);
  }
}
