/**
 * The name of a user or API key in a body.
 */

import { NAME_PATTERN } from '#domain/name.ts';
import { Type } from '#lib/schema.ts';

/** The schema of a name. See `#domain/name.ts`. */
export const NameSchema = Type.String({
  pattern: NAME_PATTERN,
  description: 'text of 1 to 100 printable characters, without spaces at its beginning or end.',
});
