/**
 * JSON Schemas with static types. The types are TypeBox's, and so are the names. The few functions that are used are written out here,
 * because TypeBox itself is 373 modules, and loading them took a tenth of the time to start.
 */
import type { Type as TypeBox } from 'typebox';

type Options = Readonly<Record<string, unknown>>;

/** The schemas of fields that may be left out. This is not part of such a schema, but of the schema of the object. */
const optional = new WeakSet<object>();

const ofType =
  (type: string) =>
  (options: Options = {}) => ({ type, ...options });

/** Makes schemas. The options are further keywords of JSON Schema, and replace those that a function sets. */
export const Type = {
  Array: (items: object, options: Options = {}) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Integer: ofType('integer'),
  Literal: (value: unknown, options: Options = {}) => ({ type: typeof value, const: value, ...options }),
  Null: ofType('null'),
  Number: ofType('number'),
  Object: (properties: Readonly<Record<string, object>>, options: Options = {}) => {
    const required = Object.keys(properties).filter((name) => !optional.has(properties[name]!));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: object) => {
    const copy = { ...schema };
    optional.add(copy);
    return copy;
  },
  /** An object whose keys may be anything. */
  Record: (_key: object, value: object, options: Options = {}) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  String: ofType('string'),
  Union: (anyOf: readonly object[], options: Options = {}) => ({ anyOf, ...options }),
  Unknown: (options: Options = {}) => ({ ...options }),
  /** A schema written out, with a type that nobody checks against it. */
  Unsafe: (schema: object) => ({ ...schema }),
} as unknown as Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>;
