/**
 * The one shape of every error.
 */
import { Type } from 'typebox';

/** Every error. */
export const ErrorSchema = Type.Object(
  {
    errors: Type.Array(Type.String(), { description: 'Sentences for people: the field, what is wrong, the way out.' }),
    code: Type.String({ description: 'For programs; never renamed.' }),
    requestId: Type.String({ description: 'Names this request in the logs of the server; also in x-request-id.' }),
  },
  {
    $id: 'Error',
    examples: [
      {
        errors: ['The field name is missing: text of 1 to 512 characters, without U+0000 and unpaired surrogates.'],
        code: 'invalid_body',
        requestId: 'k3v9w0qa-1f',
      },
    ],
  },
);
