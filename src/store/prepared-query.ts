/**
 * Compiles queries once and runs them many times with other arguments. Compiling costs tens of microseconds, more than running.
 */
import type { Compilable, Kysely, RawBuilder } from 'kysely';
import type { Database } from './database.ts';
import type { Query, SqlValue } from './engine.ts';

/** Makes the query with these arguments. */
export type PreparedQuery<Args, Row> = (args: Args) => Query<Row>;

/** Represents an argument while the query is built. */
class Placeholder {
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

interface Template {
  readonly sql: string;
  readonly slots: readonly (Placeholder | SqlValue)[];
}

/**
 * Prepares a query. It is compiled at its first use, and again for every other set of keys (such as an update of other columns), so the
 * type of the arguments bounds the number of templates.
 * @param build makes the query from its arguments, which are placeholders: it may pass them on but not read them
 */
export function prepare<Args extends object, Row>(build: (args: Args) => Compilable<Row>): PreparedQuery<Args, Row> {
  const templates = new Map<string, Template>();
  return (args) => {
    const keys = Object.keys(args);
    // Most queries have one argument, whose name needs no joining.
    const shape = keys.length === 1 ? keys[0]! : keys.join();
    let template = templates.get(shape);
    if (template === undefined) {
      template = compile(build, keys);
      templates.set(shape, template);
    }
    const values = args as Readonly<Record<string, SqlValue>>;
    const fill = (slot: Placeholder | SqlValue) =>
      slot instanceof Placeholder ? (values[slot.key] as SqlValue) : slot;
    return { sql: template.sql, parameters: template.slots.map(fill) };
  };
}

/**
 * Prepares a query whose text also depends on a few choices. It is compiled once for each combination of them.
 * @param build as in {@link prepare}; it may read `choice`, which must have few, simple values
 */
export function prepareEach<Choice extends object, Args extends object, Row>(
  build: (choice: Choice, args: Args) => Compilable<Row>,
): (choice: Choice, args: Args) => Query<Row> {
  const prepared = new Map<string, PreparedQuery<Args, Row>>();
  return (choice, args) => {
    const key = Object.values(choice).join();
    let query = prepared.get(key);
    if (query === undefined) {
      query = prepare((placeholders: Args) => build(choice, placeholders));
      prepared.set(key, query);
    }
    return query(args);
  };
}

/** Makes a raw query usable in {@link prepare}. */
export const compilable = <Row>(db: Kysely<Database>, query: RawBuilder<Row>) => ({ compile: () => query.compile(db) });

/** Makes a query undo its whole write unless it changes exactly one row. */
export const changingOne = (query: Query): Query => ({ ...query, mustChange: 1 });

/** Makes a query one that must not wait until other calls are done. */
export const urgent = <Row>(query: Query<Row>): Query<Row> => ({ ...query, isUrgent: true });

function compile<Args extends object>(build: (args: Args) => Compilable<unknown>, keys: readonly string[]): Template {
  const placeholders = Object.fromEntries(keys.map((key) => [key, new Placeholder(key)]));
  const { sql, parameters } = build(placeholders as Args).compile();
  return { sql, slots: parameters as Template['slots'] };
}
