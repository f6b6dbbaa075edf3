/**
 * Makes many changes, one after another.
 */
import type { ApiChange } from './curl.ts';
import { ApiError } from './errors.ts';

/** The result of many changes. */
export interface Changed {
  readonly done: readonly ApiChange[];
  /** The changes that failed or were not sent. A change of something that no longer exists is in neither list. */
  readonly left: readonly ApiChange[];
  /** The first failure; undefined when nothing is left. */
  readonly error: unknown;
}

/**
 * Sends changes one after another. When the server refuses one, the others are still sent. When it does not answer or limits requests, the
 * rest is not sent.
 * @param send sends one change
 */
export async function changeEach(
  changes: readonly ApiChange[],
  send: (change: ApiChange) => Promise<unknown>,
): Promise<Changed> {
  const done: ApiChange[] = [];
  const left: ApiChange[] = [];
  let first: unknown;
  for (const [index, change] of changes.entries()) {
    try {
      await send(change);
      done.push(change);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) continue;
      first ??= error;
      left.push(change);
      if (concernsOne(error)) continue;
      left.push(...changes.slice(index + 1));
      break;
    }
  }
  return { done, left, error: first };
}

/** Whether a failure concerns only the resource that was to be changed, so that other changes may succeed. */
const concernsOne = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 401 &&
  error.status !== 429;
