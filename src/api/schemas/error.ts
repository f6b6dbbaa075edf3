/**
 * The form of every error.
 */
import { Type } from '#lib/schema.ts';

/** The body of every error. */
export const ErrorSchema = Type.Object(
  {
    errors: Type.Array(Type.String(), {
      description: 'Sentences for people. Each says what is wrong, in which field, and how to correct it.',
    }),
    code: Type.String({ description: 'The code of the error, for programs. A code never changes its meaning.' }),
    requestId: Type.String({
      description: 'The id of this request in the logs of the server. The header `x-request-id` holds it, too.',
    }),
  },
  {
    $id: 'Error',
    examples: [
      {
        errors: [
          'The field name is missing; send text of 1 to 512 characters, without U+0000 and unpaired surrogates.',
        ],
        code: 'invalid_body',
        requestId: 'k3v9w0qa-1f',
      },
    ],
  },
);
