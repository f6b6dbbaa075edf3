/**
 * Turns a violation that the schema validator found into a sentence: the field, what is wrong, and what to send instead.
 *
 * What to send is the field's own `description` in the schema, so that the documentation and the errors agree: a description of a field
 * completes "send ...".
 */
import type { FastifySchemaValidationError } from 'fastify';

/** A violation with what the validator adds in `verbose` mode. Left out on purpose: the values sent (`data`), which no error repeats. */
type Violation = FastifySchemaValidationError & {
  readonly schema?: unknown;
  readonly parentSchema?: SchemaNode;
};

interface SchemaNode {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
}

/** A key name that an error may repeat: an identifier, and shorter than any API key (at least 32 characters). */
const NAMEABLE = /^[A-Za-z_][A-Za-z0-9_]{0,30}$/;

/** The name of each part of a request, and of its entries. */
const PLACES: Readonly<Record<string, readonly [string, string]>> & { readonly body: readonly [string, string] } = {
  body: ['body', 'field'],
  querystring: ['query', 'query parameter'],
  params: ['path', 'path parameter'],
  headers: ['headers', 'header'],
};

/**
 * Describes a violation in a sentence.
 * @param violation found in `context`, by a validator with `verbose: true`
 * @param context `body`, `querystring`, `params` or `headers`
 */
export function violationSentence(violation: Violation, context: string): string {
  const path = fieldPath(violation.instancePath);
  const { params, parentSchema } = violation;
  const [whole, part] = PLACES[context] ?? PLACES.body;
  const subject = path === '' ? `The ${whole}` : `The ${part} ${path}`;
  const wayOut = (schema: SchemaNode | undefined) =>
    schema?.description === undefined ? '.' : `; send ${withoutDot(schema.description)}.`;
  const must = (what: string) => `${subject} must ${what}${wayOut(path === '' ? undefined : parentSchema)}`;

  switch (violation.keyword) {
    case 'required': {
      const name = String(params.missingProperty);
      return `The field ${join(path, name)} is missing${wayOut(parentSchema?.properties?.[name])}`;
    }
    case 'additionalProperties': {
      const name = String(params.additionalProperty);
      const field = NAMEABLE.test(name) ? `The field ${join(path, name)}` : `A field of ${path || 'the body'}`;
      const known = Object.keys(parentSchema?.properties ?? {}).join(', ');
      return `${field} is unknown here or set by the server; leave it out. Known fields are ${known}.`;
    }
    case 'type':
      return must(`be of type ${Array.isArray(params.type) ? params.type.join(' or ') : String(params.type)}`);
    case 'enum':
      return must(`be one of ${(violation.schema as readonly string[]).join(', ')}`);
    case 'const':
      return must(`be ${String(violation.schema)}`);
    case 'minimum':
      return must(`be at least ${String(params.limit)}`);
    case 'maximum':
      return must(`be at most ${String(params.limit)}`);
    case 'minLength':
      return must(params.limit === 1 ? 'not be empty' : `have at least ${String(params.limit)} characters`);
    case 'maxLength':
      return must(`have at most ${String(params.limit)} characters`);
    case 'maxItems':
      return must(`have at most ${String(params.limit)} entries`);
    default:
      return must('have another form');
  }
}

/** Writes `/profiles/0/fps` as `profiles[0].fps`. The path has names of the schema only, because unknown keys are refused one level up. */
function fieldPath(instancePath: string): string {
  return instancePath
    .split('/')
    .slice(1)
    .reduce((path, name) => (/^\d+$/.test(name) ? `${path}[${name}]` : join(path, name)), '');
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
const withoutDot = (text: string): string => (text.endsWith('.') ? text.slice(0, -1) : text);
