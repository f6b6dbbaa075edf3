/**
 * Changes many things, one after another.
 */
import type { ApiChange } from './curl.ts';
import { ApiError } from './errors.ts';

/** What became of many changes. */
export interface Changed {
  readonly done: readonly ApiChange[];
  /** Those that failed or were not sent any more. What is gone already is in neither list. */
  readonly left: readonly ApiChange[];
  /** The first failure; undefined when nothing is left. */
  readonly error: unknown;
}

/**
 * Sends changes one after another. One that is refused does not keep the others from being sent. When the server does not answer, or wants no
 * more requests, the rest is left.
 * @param send sends one
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

/** Whether a failure is about what was to be changed, so that other changes may succeed. */
const concernsOne = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 401 &&
  error.status !== 429;
