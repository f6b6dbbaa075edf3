/**
 * What the rules of an API key allow. The API decides. The pages use this only to not offer what the API would refuse.
 */

/** One rule of an API key. */
export interface Rule {
  readonly resources: readonly string[];
  readonly methods?: readonly string[];
}

/**
 * Whether a session with these rules may send a request.
 * @param rules undefined for a session that may do all that its user may
 * @param path below the API's prefix, as in `/stream/<id>`
 */
export function isAllowed(rules: readonly Rule[] | undefined, method: string, path: string): boolean {
  if (rules === undefined) return true;
  const segments = path.split('/').slice(1);
  return rules.some(
    ({ resources, methods = ['*'] }) =>
      methods.some((each) => each === '*' || each === method.toLowerCase()) &&
      resources.some((resource) => matches(resource.replace(/^\//, '').split('/'), segments)),
  );
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  for (const [index, segment] of pattern.entries()) {
    if (index >= path.length) return false;
    if (segment === '*') return true;
    if (segment !== path[index] && !segment.startsWith(':')) return false;
  }
  return pattern.length === path.length;
}
