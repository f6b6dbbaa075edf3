/**
 * What an API key may be used for.
 */

import { ACCESS_METHODS } from '#api/access.ts';
import { Type } from '#lib/schema.ts';

const RuleSchema = Type.Object(
  {
    resources: Type.Array(Type.String({ minLength: 1, maxLength: 200, description: 'a route pattern.' }), {
      maxItems: 50,
      description:
        'a list of at most 50 route patterns below the API prefix, such as stream, stream/:id, stream/* or *.',
    }),
    methods: Type.Optional(
      Type.Array(
        Type.Unsafe<(typeof ACCESS_METHODS)[number]>({
          type: 'string',
          enum: [...ACCESS_METHODS],
          description:
            'a method in lower case, publish to see the stream keys of these streams, or * for all methods; get includes HEAD.',
        }),
        {
          minItems: 1,
          maxItems: ACCESS_METHODS.length,
          description: 'a list of methods. The default is all methods.',
        },
      ),
    ),
  },
  { additionalProperties: false },
);

/** A key's rules. */
export const AccessSchema = Type.Object(
  {
    rules: Type.Array(RuleSchema, {
      maxItems: 50,
      description: 'a list of at most 50 rules; a request is allowed when any of them names its method and path.',
    }),
  },
  {
    $id: 'Access',
    additionalProperties: false,
    description:
      'What an API key may be used for. In a resource, `:name` stands for any one segment, and `*` as the last segment stands for one or more. The method `publish` on `stream/:id` allows the API key to see stream keys, and so does a rule without methods. A key without `access` may do everything that its user may do. A key with an empty list of rules may do nothing.',
    examples: [{ rules: [{ resources: ['stream', 'stream/:id'], methods: ['get'] }] }],
  },
);
