/**
 * Finds the word that somebody meant to write.
 */

/** How many letters may be wrong, missing or too many. */
const MAX_DISTANCE = 3;
/** The share of a word's letters that may be wrong, rounded up. With three wrong letters, a word of three could be any other. */
const MAX_SHARE = 1 / 3;

/** The word among `words` that is most like `word`; undefined when none is similar. */
export function nearestWord(word: string, words: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Math.min(MAX_DISTANCE, Math.ceil(word.length * MAX_SHARE)) + 1;
  for (const candidate of words) {
    const distance = editDistance(word, candidate);
    if (distance < least) [nearest, least] = [candidate, distance];
  }
  return nearest;
}

/** Levenshtein's distance, row by row. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, above[column]! + 1, current[column - 1]! + 1));
    }
    above = current;
  }
  return above[b.length]!;
}
