/**
 * Who listens to an engine's announcements.
 */
import type { Logger } from '#telemetry/logger.ts';

/** What is called with an announcement; undefined when some may have been missed. */
export type AnnouncementListener = (announcement: string | undefined) => void;

/** The listeners of one engine. */
export class Listeners {
  readonly #logger: Logger;
  readonly #listeners = new Set<AnnouncementListener>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Calls it from now on, until disposed. */
  add(listener: AnnouncementListener): Disposable {
    // A function of its own, so that one who listens twice is told twice and stops listening twice.
    const entry: AnnouncementListener = (announcement) => listener(announcement);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  /** Tells all; what one throws costs neither the others nor the one who announces. */
  tell(announcement: string | undefined): void {
    for (const listener of this.#listeners) {
      try {
        listener(announcement);
      } catch (error) {
        this.#logger.error({ err: error }, 'announcement not taken');
      }
    }
  }
}
