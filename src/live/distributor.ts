/**
 * Passes the sequence of a session to its outputs, so that none of them can break another.
 */
import type { RenditionId, SessionEvent, SessionOutput, TrackEvent } from '#media/session-event.ts';

/** The most media kept of one rendition, so that an output that is attached late can begin at the newest keyframe. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
const MAX_KEPT_EVENTS = 2000;

/** What an output that is attached late gets first. */
interface Beginning {
  readonly track: TrackEvent;
  /**
   * Everything since the newest keyframe or, for audio, since the newest segment began. Undefined before there was one with this track, and
   * when more came since than is kept.
   */
  events: SessionEvent[] | undefined;
  bytes: number;
}

interface Attached {
  readonly output: SessionOutput;
  /** The renditions whose next keyframe this output waits for. */
  readonly waiting: Set<RenditionId>;
}

/** The outputs of one session. */
export class Distributor {
  readonly #onFailure: (output: SessionOutput, error: unknown) => void;
  #attached: readonly Attached[] = [];
  readonly #beginnings = new Map<RenditionId, Beginning>();
  #isClosed = false;

  /** @param onFailure called with each output that threw, after it was detached */
  constructor(onFailure: (output: SessionOutput, error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /**
   * Attaches an output, which at once gets what it needs to begin. Disposing the result detaches and closes it. An output that is attached
   * after {@link Distributor.close} is closed at once.
   */
  attach(output: SessionOutput): Disposable {
    const waiting = new Set<RenditionId>();
    const attached = { output, waiting };
    this.#attached = [...this.#attached, attached];
    if (this.#isClosed) this.#detach(attached);
    for (const [id, { track, events }] of this.#beginnings) {
      this.#hand(attached, id, track);
      if (events === undefined) waiting.add(id);
      else for (const event of events) this.#hand(attached, id, event);
    }
    return { [Symbol.dispose]: () => this.#detach(attached) };
  }

  /** Passes an event to every output. */
  write(id: RenditionId, event: SessionEvent): void {
    this.#keep(id, event);
    for (const attached of this.#attached) {
      if (attached.waiting.size === 0 || this.#mayBegin(attached, id, event)) this.#hand(attached, id, event);
    }
  }

  /** Detaches and closes every output, because no event follows. */
  close(): void {
    this.#isClosed = true;
    this.#beginnings.clear();
    for (const attached of this.#attached) this.#detach(attached);
  }

  #mayBegin({ waiting }: Attached, id: RenditionId, event: SessionEvent): boolean {
    if (!waiting.has(id)) return true;
    if (event.type === 'packet' && event.packet.keyframe) waiting.delete(id);
    return event.type === 'track' || event.type === 'end' || !waiting.has(id);
  }

  #hand(attached: Attached, id: RenditionId, event: SessionEvent): void {
    if (!this.#attached.includes(attached)) return;
    try {
      attached.output.write(id, event);
    } catch (error) {
      this.#detach(attached);
      this.#onFailure(attached.output, error);
    }
  }

  #detach(attached: Attached): void {
    if (!this.#attached.includes(attached)) return;
    this.#attached = this.#attached.filter((each) => each !== attached);
    try {
      attached.output.close?.();
    } catch (error) {
      this.#onFailure(attached.output, error);
    }
  }

  #keep(id: RenditionId, event: SessionEvent): void {
    if (event.type === 'track') {
      this.#beginnings.set(id, { track: event, events: undefined, bytes: 0 });
      return;
    }
    if (event.type === 'end') this.#beginnings.delete(id);
    const beginning = this.#beginnings.get(id);
    if (beginning === undefined) return;
    if (event.type === 'packet') {
      const { keyframe, kind, mark, data } = event.packet;
      if (kind === 'video' ? keyframe : mark !== undefined) {
        beginning.events = [];
        beginning.bytes = 0;
      }
      beginning.bytes += data.byteLength;
    }
    beginning.events?.push(event);
    const isTooMuch = beginning.bytes > MAX_KEPT_BYTES || (beginning.events?.length ?? 0) > MAX_KEPT_EVENTS;
    if (isTooMuch) beginning.events = undefined;
  }
}
