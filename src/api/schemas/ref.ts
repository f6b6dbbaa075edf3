/**
 * References between schemas, so that the document says each once.
 */
import type { Static, TSchema } from 'typebox';
import { Type } from '#lib/schema.ts';

/** The same schema by its name, so that the document says it once. */
export function ref<Schema extends TSchema>(schema: Schema) {
  const { $id } = schema as { readonly $id?: string };
  return Type.Unsafe<Static<Schema>>({ $ref: `${$id}#` });
}
