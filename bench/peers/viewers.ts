/**
 * Load: many full low-latency viewers in one process, each reading the playlists and parts of video and audio on two connections. It
 * answers with their number once all have read a part or failed, after a minute at the latest, and with what they have seen when it is
 * asked.
 */
import { readParts } from '../support/rendition-reader.ts';

/** The stream to watch, and the viewers. */
export interface ViewersJob {
  readonly urls: readonly string[];
  readonly viewers: number;
}

/** What the viewers saw. */
export interface ViewersReport {
  /** For each part, by its path: when each viewer's playlist listed it, in wall-clock milliseconds. */
  readonly listedAtMs: ReadonlyMap<string, readonly number[]>;
  readonly errors: readonly string[];
}

/**
 * How long readers may take until their first part. A reader that takes longer counts as an error, so that the others are not kept waiting.
 */
const READY_WITHIN_MS = 60_000;

const leaving = new AbortController();
const listedAtMs = new Map<string, number[]>();
const errors: string[] = [];

process.on('message', (message: ViewersJob | 'report') => {
  if (message !== 'report') watch(message);
  else {
    leaving.abort();
    process.send?.({ listedAtMs, errors } satisfies ViewersReport);
  }
});
process.once('disconnect', () => process.exit());

function watch({ urls, viewers }: ViewersJob): void {
  let waiting = viewers * urls.length;
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    errors.push(`${waiting} readers had no part within ${READY_WITHIN_MS / 1000} s`);
    process.send?.(viewers);
  }, READY_WITHIN_MS);
  const ready = () => {
    waiting -= 1;
    if (waiting > 0 || isLate) return;
    clearTimeout(late);
    process.send?.(viewers);
  };
  for (let viewer = 0; viewer < viewers; viewer += 1) {
    for (const url of urls) {
      let isReady = false;
      const readyOnce = () => {
        if (!isReady) ready();
        isReady = true;
      };
      void read(new URL(url), readyOnce).catch((error: unknown) => {
        if (!leaving.signal.aborted) errors.push(String(error));
        // A reader that fails before its first part is not waited for. Its error is reported.
        readyOnce();
      });
    }
  }
}

async function read(url: URL, ready: () => void): Promise<void> {
  let parts = 0;
  for await (const part of readParts(url, leaving)) {
    parts += 1;
    if (parts === 1) ready();
    const path = new URL(part.name, url).pathname;
    const seen = listedAtMs.get(path) ?? [];
    seen.push(part.listedAtMs);
    listedAtMs.set(path, seen);
  }
  if (!leaving.signal.aborted) throw new Error('the playlist ended');
}
