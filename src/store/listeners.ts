/**
 * The listeners to an engine's announcements.
 */
import type { Logger } from '#telemetry/logger.ts';

/** Called with an announcement, or with undefined when some may have been missed. */
export type AnnouncementListener = (announcement: string | undefined) => void;

/** The listeners of one engine. */
export class Listeners {
  readonly #logger: Logger;
  readonly #listeners = new Set<AnnouncementListener>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Calls the listener from now on, until disposed. */
  add(listener: AnnouncementListener): Disposable {
    // Each call makes a new function, so that a listener that was added twice is called twice and removed separately.
    const entry: AnnouncementListener = (announcement) => listener(announcement);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  /** Calls all listeners. When one throws, the others are still called, and the caller is not affected. */
  tell(announcement: string | undefined): void {
    for (const listener of this.#listeners) {
      try {
        listener(announcement);
      } catch (error) {
        this.#logger.error({ err: error }, 'an announcement could not be handled');
      }
    }
  }
}
