/**
 * References between schemas, so that the OpenAPI document contains each schema once.
 */
import type { Static, TSchema } from 'typebox';
import { Type } from '#lib/schema.ts';

/** Makes a reference to a schema by its name. */
export function ref<Schema extends TSchema>(schema: Schema) {
  const { $id } = schema as { readonly $id?: string };
  return Type.Unsafe<Static<Schema>>({ $ref: `${$id}#` });
}
