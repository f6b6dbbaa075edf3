/**
 * Publishes test pictures, with which a user can try a stream from ingest to the player without an encoder.
 */
import { MillraceError } from '#domain/errors.ts';
import type { StreamId, UserId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import type { Publication, PublishGate, Refusal } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { type Track, trackId } from '#media/track.ts';
import type { Store } from '#store/store.ts';
import type { TestPictureTarget } from '#transcode/test-picture.ts';

/** How long a test picture is published, in milliseconds. */
export const TEST_PICTURE_MS = 60_000;
/** How long one test picture may last however often it is started again, in milliseconds. */
const LONGEST_MS = 10 * TEST_PICTURE_MS;
/** The most test pictures that one server publishes at the same time. No user has more than one of them. */
const MAX_PICTURES = 4;
/** The protocol that the publish gate is told for a test picture. No encoder has it, nor the address below. */
export const TEST_PICTURE_PROTOCOL = 'test';
const ADDRESS = 'test picture';
/** The name that sessions and health show as that of the encoder. */
export const TEST_PICTURE_ENCODER = 'Millrace test picture';
/** How long the publish gate may take to decide. */
const GATE_TIMEOUT_MS = 5000;

/** The options of {@link TestPictures}. */
export interface TestPicturesOptions {
  readonly gate: Pick<PublishGate, 'publish'>;
  readonly store: Pick<Store, 'listen' | 'announce'>;
  readonly clock: Clock;
  /** Starts the process that draws the picture. Undefined where FFmpeg is not installed. */
  readonly draw: ((target: TestPictureTarget) => AsyncDisposable) | undefined;
}

/** A test picture that is being published. */
interface RunningPicture {
  readonly userId: UserId;
  /** When it began, by the monotonic clock. */
  readonly begunAt: Milliseconds;
  until: Milliseconds;
  timer: NodeJS.Timeout | undefined;
  stop(): void;
  /** Settles when the process that draws has ended. */
  readonly ended: Promise<void>;
}

/** A test picture that waits for the publish gate. */
interface StartingPicture {
  readonly userId: UserId;
  /** Aborted when it is to stop before it has begun. */
  readonly stopped: AbortController;
}

/** The test pictures of one process. */
export class TestPictures implements AsyncDisposable {
  readonly #options: TestPicturesOptions;
  readonly #pictures = new Map<StreamId, RunningPicture>();
  readonly #starting = new Map<StreamId, StartingPicture>();
  readonly #listening: Disposable;
  #isClosing = false;

  constructor(options: TestPicturesOptions) {
    this.#options = options;
    this.#listening = options.store.listen((announcement) => {
      if (announcement.type === 'test_picture_stopped') this.stopHere(announcement.streamId);
      // The announcement that stops any of these pictures may have been missed.
      if (announcement.type === 'missed') this.#stopAll();
    });
  }

  /**
   * Begins to publish a test picture. When the stream has one already, its time begins again, but the picture lasts ten minutes at most.
   * @returns the wall-clock time at which it will end
   * @throws {MillraceError} `test_picture_unavailable`; `conflict` when an encoder publishes to the stream, when another stream of its user
   *   has a test picture at this server, or when the picture was stopped before it began; `quota_exceeded`
   */
  async start(stream: Stream): Promise<Milliseconds> {
    const present = this.#pictures.get(stream.id);
    if (present !== undefined) return this.#extend(stream.id, present);
    const { draw } = this.#options;
    if (draw === undefined) {
      throw new MillraceError(
        'test_picture_unavailable',
        'This server has no FFmpeg, so it cannot draw a test picture; the operator can install Millrace without --omit=optional.',
      );
    }
    if (this.#starting.has(stream.id)) {
      throw new MillraceError('conflict', 'A test picture of this stream is being started; wait a moment.');
    }
    if (this.#hasPicture(stream.userId)) {
      throw new MillraceError(
        'conflict',
        'Another stream of the same user has a test picture at this server; stop that one first, or wait until it ends.',
      );
    }
    if (this.#isClosing || this.#pictures.size + this.#starting.size >= MAX_PICTURES) {
      throw new MillraceError(
        'test_picture_unavailable',
        `This server already publishes ${MAX_PICTURES} test pictures; try again in a minute.`,
        { retryAfterS: TEST_PICTURE_MS / 1000 },
      );
    }
    const stopped = new AbortController();
    this.#starting.set(stream.id, { userId: stream.userId, stopped });
    try {
      return await this.#begin(stream, draw, stopped.signal);
    } finally {
      this.#starting.delete(stream.id);
    }
  }

  /** Stops the test picture of a stream on every server. Does nothing when there is none. @throws {MillraceError} `store_unavailable` */
  async stop(streamId: StreamId): Promise<void> {
    this.stopHere(streamId);
    await this.#options.store.announce({ type: 'test_picture_stopped', streamId });
  }

  /** Stops the test picture of a stream on this server. When it returns, an encoder may publish to the stream. */
  stopHere(streamId: StreamId): void {
    this.#starting.get(streamId)?.stopped.abort();
    this.#pictures.get(streamId)?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    this.#listening[Symbol.dispose]();
    const ended = Array.from(this.#pictures.values(), (picture) => picture.ended);
    this.#stopAll();
    await Promise.all(ended);
  }

  #stopAll(): void {
    for (const streamId of [...this.#starting.keys(), ...this.#pictures.keys()]) this.stopHere(streamId);
  }

  #hasPicture(userId: UserId): boolean {
    return [...this.#pictures.values(), ...this.#starting.values()].some((picture) => picture.userId === userId);
  }

  async #begin(
    stream: Stream,
    draw: (target: TestPictureTarget) => AsyncDisposable,
    stopped: AbortSignal,
  ): Promise<Milliseconds> {
    const refused = Promise.withResolvers<Refusal>();
    const decision = await this.#options.gate.publish(
      {
        streamKey: stream.streamKey,
        protocol: TEST_PICTURE_PROTOCOL,
        remoteAddress: ADDRESS,
        encoder: TEST_PICTURE_ENCODER,
        disconnect: refused.resolve,
      },
      { signal: AbortSignal.any([stopped, AbortSignal.timeout(GATE_TIMEOUT_MS)]) },
    );
    if (stopped.aborted) {
      if (decision.accepted) decision.publication.end('unpublished');
      throw new MillraceError('conflict', 'The test picture was stopped before it began.');
    }
    if (!decision.accepted) throw errorOf(decision.refusal);
    const { publication } = decision;
    const process = draw(targetOf(publication, () => picture.stop()));
    const ended = Promise.withResolvers<void>();
    const picture: RunningPicture = {
      userId: stream.userId,
      begunAt: this.#options.clock.monotonic(),
      until: ms(0),
      timer: undefined,
      ended: ended.promise,
      stop: () => {
        if (this.#pictures.get(stream.id) === picture) this.#pictures.delete(stream.id);
        clearTimeout(picture.timer);
        publication.end('unpublished');
        ended.resolve(process[Symbol.asyncDispose]());
      },
    };
    void refused.promise.then(() => picture.stop());
    this.#pictures.set(stream.id, picture);
    return this.#extend(stream.id, picture);
  }

  #extend(streamId: StreamId, picture: RunningPicture): Milliseconds {
    const { clock } = this.#options;
    const leftMs = Math.min(TEST_PICTURE_MS, picture.begunAt + LONGEST_MS - clock.monotonic());
    clearTimeout(picture.timer);
    picture.timer = setTimeout(() => this.stopHere(streamId), leftMs).unref();
    picture.until = ms(clock.now() + leftMs);
    return picture.until;
  }
}

/** Passes the media of the process that draws on to a publication. */
function targetOf(publication: Publication, onEnd: () => void): TestPictureTarget {
  const idOf = (kind: Track['kind']) => trackId(`test ${kind}`);
  publication.announce({
    kinds: new Set(['video', 'audio']),
    videoBitrateBps: undefined,
    audioBitrateBps: undefined,
    encoder: TEST_PICTURE_ENCODER,
  });
  return {
    track: (track) => publication.track(track, idOf(track.kind)),
    packet: (packet) => publication.packet(packet, idOf(packet.kind)),
    end: onEnd,
  };
}

/** The API error for a refusal of the publish gate. */
function errorOf({ code, reason }: Refusal): MillraceError {
  switch (code) {
    case 'stream_key_in_use':
      return new MillraceError(
        'conflict',
        'An encoder is publishing to this stream; stop it before you start a test picture.',
      );
    case 'stream_suspended':
    case 'stream_key_invalid':
      return new MillraceError('conflict', reason);
    case 'quota_exceeded':
      return new MillraceError('quota_exceeded', reason);
    default:
      return new MillraceError('test_picture_unavailable', reason);
  }
}
