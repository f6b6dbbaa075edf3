/**
 * What an API key may be used for: its rules, matched against requests and compared with one another.
 *
 * A rule names resources as route patterns below the API's prefix, `stream/:id`, and methods. In a pattern `:name` stands for any one
 * segment, `*` (only as the last) for any further ones, at least one. Patterns are matched against the path as the router took it
 * apart, so no way of writing a path gets around them.
 */
import type { AccessRule, ApiKey } from '#domain/user.ts';

/**
 * The methods that a rule may name. `get` includes HEAD. `publish` is not a method of HTTP: on a stream it allows a caller to see and use
 * the stream key.
 */
export const ACCESS_METHODS = ['get', 'post', 'put', 'patch', 'delete', 'publish', '*'] as const;

/** The rules of a key; undefined = everything its user may do. */
export type Access = ApiKey['access'];

/** A pattern, segment by segment. */
type Pattern = readonly string[];

/** Rules made ready to be matched. */
type CompiledRule = { readonly resources: readonly Pattern[]; readonly methods: readonly string[] };

const SEGMENT = /^(?::[A-Za-z][A-Za-z0-9_]*|[A-Za-z0-9._~-]+)$/;
const ANY_METHOD = ['*'];
const EVERYTHING: readonly CompiledRule[] = [{ resources: [['*']], methods: ANY_METHOD }];

/** Says what is wrong with rules, as a sentence; undefined when they can be kept. */
export function accessProblem(rules: readonly AccessRule[]): string | undefined {
  for (const [index, { resources }] of rules.entries()) {
    for (const [position, resource] of resources.entries()) {
      const field = `The field access.rules[${index}].resources[${position}]`;
      if (resource.includes('?')) {
        return `${field} must not have a query string; a rule holds for a path whatever its query.`;
      }
      const segments = segmentsOf(resource);
      const isPattern = segments.every(
        (segment, at) => SEGMENT.test(segment) || (segment === '*' && at === segments.length - 1),
      );
      if (!isPattern) {
        return `${field} must be a route below the API prefix, such as stream, stream/:id, stream/* or *; an asterisk stands only for a whole end.`;
      }
    }
  }
  return undefined;
}

/**
 * Whether `child` allows nothing that `parent` refuses. It compares rule by rule, so it may say no to rules that only several of the
 * parent's cover together; it never says yes to more.
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

/** Judges requests by the rules of their keys. What it made of a key's rules it keeps: they never change. */
export class AccessJudge {
  readonly #compiled = new Map<string, readonly CompiledRule[]>();

  /**
   * @param method as sent, or `publish`
   * @param path below the prefix, as the router took it apart; values of parameters decoded
   */
  allows({ id, access }: Pick<ApiKey, 'id' | 'access'>, method: string, path: Pattern): boolean {
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
    if (this.#compiled.size >= MAX_COMPILED) this.#compiled.clear();
    const rules = compile(access);
    this.#compiled.set(id, rules);
    return rules;
  }
}

/** Keys whose rules are kept ready; when there are more, all are made ready again. */
const MAX_COMPILED = 1000;

function compile(access: Access): readonly CompiledRule[] {
  if (access === undefined) return EVERYTHING;
  return access.rules.map(({ resources, methods = ANY_METHOD }) => ({
    resources: resources.map(segmentsOf),
    methods,
  }));
}

/** A leading slash is optional. */
const segmentsOf = (resource: string): Pattern => resource.replace(/^\//, '').split('/');

const standsForOne = (segment: string): boolean => segment.startsWith(':');

/** Whether a path is one that a pattern stands for. A segment of a path may look like anything, `*` and `:id` included. */
function matches(pattern: Pattern, path: Pattern): boolean {
  for (const [index, segment] of pattern.entries()) {
    if (index >= path.length) return false;
    if (segment === '*') return true;
    if (segment !== path[index] && !standsForOne(segment)) return false;
  }
  return pattern.length === path.length;
}

/** Whether every path that `inner` stands for is one that `outer` stands for. */
function contains(outer: Pattern, inner: Pattern): boolean {
  for (const [index, segment] of outer.entries()) {
    if (index >= inner.length) return false;
    if (segment === '*') return true;
    if (inner[index] === '*') return false;
    if (segment !== inner[index] && !standsForOne(segment)) return false;
  }
  return outer.length === inner.length;
}
