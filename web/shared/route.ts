/**
 * Matches a path against the pattern of a page.
 */

/** The values of a pattern's `:names` in a path; undefined when it does not match. */
export function matchRoute(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const [wanted, given] = [pattern, path].map((text) => text.split('/').slice(1));
  if (wanted!.length !== given!.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, segment] of wanted!.entries()) {
    const value = given![index]!;
    if (segment.startsWith(':')) {
      if (value === '') return undefined;
      values[segment.slice(1)] = decoded(value);
    } else if (segment !== value) return undefined;
  }
  return values;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
