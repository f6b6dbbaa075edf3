/**
 * The recording of one session. It begins when the session is shown for the first time, because the session has no row in the store before
 * that, and nothing would ever delete its files.
 */
import type { Packaged, PartSink } from '#hls/hls.ts';
import type { Picture } from '#media/picture.ts';
import type { RenditionId } from '#media/session-event.ts';
import type { Recorder, RecordingExtent, RecordingRequest } from '#recording/recording.ts';

/**
 * The most bytes of media that wait until the recording begins. Only renditions of more than 100 Mbit/s together reach this in the four
 * seconds for which a presentation waits for its renditions. They take no extra memory, because the presentation has the same bytes in its
 * window.
 */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** What is recorded of a session, and how. */
export interface SessionRecordingOptions {
  readonly request: RecordingRequest;
  /** Makes the recorder. Called at most once. */
  readonly begin: (request: RecordingRequest) => Recorder;
}

/** Records one session. Until {@link SessionRecording.begin} everything waits in memory. */
export class SessionRecording implements PartSink {
  readonly #options: SessionRecordingOptions;
  #recorder: Recorder | undefined;
  #waiting: (readonly [RenditionId, Packaged])[] = [];
  #waitingBytes = 0;
  /** The first picture of each kind that was made before the recording began. */
  readonly #pictures = new Map<Picture['kind'], Picture>();
  #isOver = false;

  constructor(options: SessionRecordingOptions) {
    this.#options = options;
  }

  write(id: RenditionId, packaged: Packaged): void {
    if (this.#recorder !== undefined) this.#recorder.write(id, packaged);
    else if (!this.#isOver) this.#wait(id, packaged);
  }

  /** Adds a picture of the session. */
  picture(picture: Picture): void {
    if (this.#recorder !== undefined) this.#recorder.picture(picture);
    else if (!this.#pictures.has(picture.kind)) this.#pictures.set(picture.kind, picture);
  }

  /** Begins to record, or to continue the recording of an earlier process. Repeating it changes nothing. */
  begin(): void {
    if (this.#recorder !== undefined || this.#isOver) return;
    const recorder = this.#options.begin(this.#options.request);
    this.#recorder = recorder;
    const waiting = this.#takeWaiting();
    for (const [id, packaged] of waiting) recorder.write(id, packaged);
    for (const picture of this.#pictures.values()) recorder.picture(picture);
    this.#pictures.clear();
  }

  /** Ends the recording, as {@link Recorder.end} does. @returns undefined when nothing was recorded */
  async end(): Promise<RecordingExtent | undefined> {
    this.#close();
    return await this.#recorder?.end();
  }

  /** Pauses the recording, as {@link Recorder.pause} does. A recording that has not begun never begins. */
  async pause(): Promise<void> {
    this.#close();
    await this.#recorder?.pause();
  }

  #close(): void {
    this.#isOver = true;
    this.#takeWaiting();
    this.#pictures.clear();
  }

  #wait(id: RenditionId, packaged: Packaged): void {
    if (packaged.type === 'part') this.#waitingBytes += packaged.sizeBytes;
    this.#waiting.push([id, packaged]);
    if (this.#waitingBytes <= MAX_WAITING_BYTES) return;
    // The recording then begins with a later segment, which needs the init segments.
    this.#waiting = this.#takeWaiting().filter(([, { type }]) => type === 'init');
    this.#options.request.warn('recording_behind', true);
  }

  #takeWaiting() {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return waiting;
  }
}
