/**
 * The access rules of an API key, how requests are matched against them, and how two sets of rules are compared.
 *
 * A rule names methods, and resources as route patterns below the API's prefix, such as `stream/:id`. In a pattern, `:name` matches any one
 * segment, and `*`, allowed only as the last segment, matches one or more. Patterns are matched against the path as the router split it, so
 * that no spelling of a path evades a rule.
 */
import type { AccessRule, ApiKey } from '#domain/user.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Credential } from './credentials.ts';

/**
 * The methods that a rule may name. `get` includes HEAD. `publish` is not an HTTP method: on a stream it allows a caller to see and use the
 * stream key.
 */
export const ACCESS_METHODS = ['get', 'post', 'put', 'patch', 'delete', 'publish', '*'] as const;

/** The access rules of a key. Undefined allows everything that its user may do. */
export type Access = ApiKey['access'];

/** A pattern, split into segments. */
type Pattern = readonly string[];

/** Access rules in the form in which requests are matched against them. */
type CompiledRule = { readonly resources: readonly Pattern[]; readonly methods: readonly string[] };

const SEGMENT = /^(?::[A-Za-z][A-Za-z0-9_]*|[A-Za-z0-9._~-]+)$/;
const ANY_METHOD = ['*'];
const EVERYTHING: readonly CompiledRule[] = [{ resources: [['*']], methods: ANY_METHOD }];

/** Describes what is wrong with rules in a sentence, or gives undefined when they can be stored. */
export function accessProblem(rules: readonly AccessRule[]): string | undefined {
  for (const [index, { resources }] of rules.entries()) {
    for (const [position, resource] of resources.entries()) {
      const field = `The field access.rules[${index}].resources[${position}]`;
      if (resource.includes('?')) {
        return `${field} must not have a query string; a rule applies to a path with any query.`;
      }
      const segments = segmentsOf(resource);
      const isPattern = segments.every(
        (segment, at) => SEGMENT.test(segment) || (segment === '*' && at === segments.length - 1),
      );
      if (!isPattern) {
        return `${field} must be a route below the API prefix, such as stream, stream/:id, stream/* or *; an asterisk may only be the whole last segment.`;
      }
    }
  }
  return undefined;
}

/**
 * Whether `child` allows nothing that `parent` refuses. Each rule of the child must be covered by a single rule of the parent, so the
 * answer may be false where only several of the parent's rules together cover it. It is never true by mistake.
 */
export function isContained(child: Access, parent: Access): boolean {
  const covering = compile(parent);
  const isCovered = (resource: Pattern, method: string) =>
    covering.some(
      ({ resources, methods }) =>
        (methods.includes('*') || methods.includes(method)) && resources.some((each) => contains(each, resource)),
    );
  return compile(child).every(({ resources, methods }) =>
    resources.every((resource) => methods.every((method) => isCovered(resource, method))),
  );
}

/** The number of keys whose compiled rules are remembered. */
const MAX_COMPILED = 1000;

/**
 * Decides whether an API key's rules allow a request. Compiled rules are remembered by the key's id, because the rules of a key never
 * change.
 */
export class AccessJudge {
  readonly #compiled = new BoundedMap<string, readonly CompiledRule[]>(MAX_COMPILED);

  /**
   * Whether the rules of a credential allow a request.
   * @param method the method of the request, or `publish`
   * @param path below the prefix, as the router split it, with parameter values decoded
   */
  allows({ id, access }: Pick<Credential, 'id' | 'access'>, method: string, path: Pattern): boolean {
    if (access === undefined) return true;
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase();
    return this.#rulesOf(id, access).some(
      ({ resources, methods }) =>
        (methods.includes('*') || methods.includes(wanted)) && resources.some((each) => matches(each, path)),
    );
  }

  #rulesOf(id: string, access: Access): readonly CompiledRule[] {
    const known = this.#compiled.get(id);
    if (known) return known;
    const rules = compile(access);
    this.#compiled.set(id, rules);
    return rules;
  }
}

function compile(access: Access): readonly CompiledRule[] {
  if (access === undefined) return EVERYTHING;
  return access.rules.map(({ resources, methods = ANY_METHOD }) => ({
    resources: resources.map(segmentsOf),
    methods,
  }));
}

/** Splits a resource into segments. A leading slash is optional. */
const segmentsOf = (resource: string): Pattern => resource.replace(/^\//, '').split('/');

const standsForOne = (segment: string): boolean => segment.startsWith(':');

/** Whether a pattern matches a path. A segment of a path may be any text, including `*` and `:id`. */
function matches(pattern: Pattern, path: Pattern): boolean {
  for (const [index, segment] of pattern.entries()) {
    if (index >= path.length) return false;
    if (segment === '*') return true;
    if (segment !== path[index] && !standsForOne(segment)) return false;
  }
  return pattern.length === path.length;
}

/** Whether every path that `inner` matches is matched by `outer`, too. */
function contains(outer: Pattern, inner: Pattern): boolean {
  for (const [index, segment] of outer.entries()) {
    if (index >= inner.length) return false;
    if (segment === '*') return true;
    if (inner[index] === '*') return false;
    if (segment !== inner[index] && !standsForOne(segment)) return false;
  }
  return outer.length === inner.length;
}
