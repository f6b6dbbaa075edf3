/**
 * Says which of several streams are live.
 */
import { count } from '../../shared/format.ts';

const MAX_NAMES = 3;

/**
 * Makes the sentence.
 * @param names the names of those that are live
 * @param areAll whether no others of them can be live
 */
export function liveWords(names: readonly string[], areAll: boolean): string {
  if (names.length === 0) return areAll ? 'None of them is live.' : 'Some of them may be live.';
  const more = names.length - MAX_NAMES;
  const listed = names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return `${areAll ? '' : 'At least '}${count(names.length, 'of them is', 'of them are')} live now: ${listed}.`;
}
