/**
 * Which methods each path takes, so that a request with another method gets 405 and the names of those methods (RFC 9110 §15.5.6).
 */

/** Records the routes of a server, and finds the methods that a path takes. */
export class KnownPaths {
  /** The segments of each route's pattern and the methods of the route. */
  readonly #routes: { readonly segments: readonly string[]; readonly methods: readonly string[] }[] = [];

  /** Adds a route. @param pattern as Fastify writes it: `:name` stands for one segment, `*` at the end for any further ones */
  add(pattern: string, methods: string | readonly string[]): void {
    // Browsers send OPTIONS as a CORS preflight, which is about another method of the path.
    const named = [methods].flat().filter((method) => method !== 'OPTIONS');
    if (named.length > 0) this.#routes.push({ segments: segmentsOf(pattern), methods: named });
  }

  /** The methods that a path takes, in alphabetical order; none when no route has this path. @param path may have a query */
  methodsOf(path: string): readonly string[] {
    const segments = segmentsOf(path.replace(/\?.*/s, ''));
    const methods = this.#routes.filter((route) => matches(route.segments, segments)).flatMap((route) => route.methods);
    return [...new Set(methods)].sort();
  }
}

/** The segments of a path. A trailing slash is ignored, as in the router. */
const segmentsOf = (path: string): readonly string[] => path.replace(/\/$/, '').split('/').slice(1);

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.at(-1) === '*') return path.length >= pattern.length && startsWith(path, pattern.slice(0, -1));
  return path.length === pattern.length && startsWith(path, pattern);
}

function startsWith(path: readonly string[], pattern: readonly string[]): boolean {
  return pattern.every((segment, index) => (segment.startsWith(':') ? path[index] !== '' : segment === path[index]));
}
