/**
 * A publish gate that accepts known keys and records everything that it receives. It stands in for `live` in tests of ingest protocols.
 */
import { EventEmitter, once } from 'node:events';
import type {
  Announcement,
  InvalidAddress,
  Publication,
  PublicationEnd,
  PublicationEndCause,
  PublishDecision,
  PublishGate,
  PublishRequest,
  Refusal,
} from '#ingest/ingest.ts';
import type { Packet } from '#media/packet.ts';
import type { Track } from '#media/track.ts';

/** The key that {@link RecordingGate} accepts by default. */
export const GOOD_KEY = 'good-0000-0000-0key';

/** One accepted publish, with everything that was received. */
export class RecordedPublication implements Publication {
  readonly request: PublishRequest;
  readonly announcements: Announcement[] = [];
  readonly tracks: Track[] = [];
  readonly packets: Packet[] = [];
  readonly ends: PublicationEnd[] = [];
  readonly causes: (PublicationEndCause | undefined)[] = [];
  silentMs = 0;
  readonly #changes: EventEmitter;

  constructor(request: PublishRequest, changes: EventEmitter) {
    this.request = request;
    this.#changes = changes;
  }

  announce(announcement: Announcement): void {
    this.announcements.push(announcement);
    this.#changes.emit('change');
  }

  track(track: Track): void {
    this.tracks.push(track);
    this.#changes.emit('change');
  }

  packet(packet: Packet): void {
    this.packets.push(packet);
    this.#changes.emit('change');
  }

  silentFor(silentMs: number): void {
    this.silentMs = silentMs;
    this.#changes.emit('change');
  }

  end(reason: PublicationEnd, cause?: PublicationEndCause): void {
    this.ends.push(reason);
    this.causes.push(cause);
    this.#changes.emit('change');
  }

  /** The packets of one kind, in the order they came. */
  of(kind: Packet['kind']): Packet[] {
    return this.packets.filter((packet) => packet.kind === kind);
  }
}

/** Records every request and every accepted publish. */
export class RecordingGate implements PublishGate {
  readonly requests: PublishRequest[] = [];
  readonly publications: RecordedPublication[] = [];
  readonly invalidAddresses: InvalidAddress[] = [];
  readonly #changes = new EventEmitter();
  /** Decides about each request. A test replaces it to refuse, wait or fail. */
  decide: (request: PublishRequest, accept: () => PublishDecision, signal: AbortSignal) => Promise<PublishDecision>;

  constructor() {
    this.#changes.setMaxListeners(0);
    this.decide = async (request, accept) =>
      request.streamKey.reveal() === GOOD_KEY
        ? accept()
        : refused('stream_key_invalid', 'The stream key is not valid.');
  }

  async publish(request: PublishRequest, { signal }: { signal: AbortSignal }): Promise<PublishDecision> {
    this.requests.push(request);
    this.#changes.emit('change');
    const accept = (): PublishDecision => {
      const publication = new RecordedPublication(request, this.#changes);
      this.publications.push(publication);
      this.#changes.emit('change');
      return { accepted: true, publication };
    };
    return await this.decide(request, accept, signal);
  }

  addressInvalid(attempt: InvalidAddress): void {
    this.invalidAddresses.push(attempt);
  }

  /** The latest accepted publish. @throws when there is none yet */
  get publication(): RecordedPublication {
    const publication = this.publications.at(-1);
    if (publication === undefined) throw new Error('no publish has been accepted yet');
    return publication;
  }

  /** Waits until a condition on what was recorded holds. @throws {Error} after a minute, naming the condition */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(60_000);
    while (!holds()) {
      try {
        await once(this.#changes, 'change', { signal: deadline });
      } catch (error) {
        throw new Error(`waited a minute in vain: ${what}`, { cause: error });
      }
    }
  }

  /** Waits for the first accepted publish to end. @returns it */
  async ended(): Promise<RecordedPublication> {
    await this.until('a publish ends', () => (this.publications.at(-1)?.ends.length ?? 0) > 0);
    return this.publication;
  }
}

/** Makes a refusal. */
export function refused(code: Refusal['code'], reason: string): PublishDecision {
  return { accepted: false, refusal: { code, reason } };
}
