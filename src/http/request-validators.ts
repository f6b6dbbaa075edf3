/**
 * Validators of requests. Each is compiled when the first request comes that needs it, and the compiler is loaded for the first of them.
 * Compiling all at the start would take an eighth of the time to start, and a server seldom needs more than a few. Loading and compiling takes
 * up to 80 ms, so it is done in small pieces, one in each turn of the event loop. Only the request that needs the validator waits for all.
 */
import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ValidatorFactory } from '@fastify/ajv-compiler';
import type {
  FastifyInstance,
  FastifySchemaCompiler,
  FastifySchemaValidationError,
  preValidationHookHandler,
  RouteOptions,
} from 'fastify';
import { loadInTurns } from '#lib/load-in-turns.ts';

/** What the compiler makes of a schema. */
interface Validator {
  (value: unknown): boolean;
  readonly errors: FastifySchemaValidationError[];
}

/** The schemas that other schemas can refer to, by their ids. */
type Shared = Readonly<Record<string, unknown>>;

const require = createRequire(import.meta.url);
const COMPILER = '@fastify/ajv-compiler';
/** Modules of the compiler, in pieces of a few milliseconds. */
const PIECES = [
  'ajv/dist/compile/codegen',
  'ajv/dist/compile/rules',
  'ajv/dist/compile/validate/dataType',
  'ajv/dist/compile/validate/keyword',
  'ajv/dist/compile/resolve',
  'ajv/dist/compile/validate',
  'fast-uri',
  'ajv/dist/core',
  'ajv/dist/vocabularies/validation',
  'ajv/dist/vocabularies/applicator',
  'ajv/dist/vocabularies/draft7',
  'ajv',
  'ajv-formats',
  'ajv/dist/vocabularies/jtd',
  'ajv/dist/jtd',
];
/** Schemas that take little time to compile. Together they have most of the keywords that requests need. */
const SMALL = [
  { type: 'object', properties: { text: { type: 'string', minLength: 1 } } },
  { type: 'object', required: ['number'], properties: { number: { type: 'integer', minimum: 0, maximum: 9 } } },
  { type: 'array', maxItems: 2, items: { type: 'string', pattern: '^a', maxLength: 9 } },
  { type: 'object', additionalProperties: false, properties: { text: { type: 'string', enum: ['a', 'b'] } } },
  { anyOf: [{ type: 'boolean' }, { const: 'a' }, { type: ['number', 'null'] }] },
  { type: 'object', maxProperties: 2, additionalProperties: { type: 'string' } },
];

/** The validators of one server. */
export class RequestValidators {
  /** For each route, functions that return the steps which compile a validator. Each step is short, and does nothing when it is repeated. */
  readonly #parts = new Map<string, readonly (() => readonly (() => void)[])[]>();
  #loaded: Promise<void> | undefined;

  /** Makes the function that Fastify asks for a validator of each part of each route's requests. */
  readonly build = ((shared: Shared, options: object): FastifySchemaCompiler<object> => {
    let compile: FastifySchemaCompiler<object> | undefined;
    const compiler = () => (compile ??= makeCompiler(shared, options));
    const compiled = new Set<object>();
    const compileOnce = (schema: object) => () => {
      if (compiled.has(schema)) return;
      compiler()({ schema, method: '', url: '' });
      compiled.add(schema);
    };
    const references = new Map(Object.keys(shared).map((id) => [id, { $ref: `${id}#` }]));
    return (part) => {
      let validate: Validator | undefined;
      const validator = () => (validate ??= compiler()(part) as unknown as Validator);
      const steps = () => [
        compiler,
        ...referredBy(part.schema, shared).map((id) => compileOnce(references.get(id)!)),
        validator,
      ];
      const name = nameOf(part);
      this.#parts.set(name, [...(this.#parts.get(name) ?? []), steps]);
      return (value) => {
        const check = validator();
        return check(value) || { error: check.errors };
      };
    };
  }) as ValidatorFactory;

  /** Lets the first request to each route wait until its validators are compiled. */
  addTo(http: FastifyInstance): void {
    http.addHook('onRoute', (route) => {
      if (route.schema !== undefined) waitFirst(route, () => this.#prepare(nameOf(route)));
    });
  }

  async #prepare(route: string): Promise<void> {
    const parts = this.#parts.get(route);
    if (parts === undefined) return; // no part of its requests has a schema
    this.#loaded ??= load();
    await this.#loaded;
    for (const step of parts.flatMap((steps) => steps())) {
      step();
      await nextTurn();
    }
  }
}

/**
 * Loads the compiler and compiles small schemas with it, one in each turn. V8 compiles the compiler's functions when they are first called,
 * and the first large schema would need most of them in one turn.
 */
async function load(): Promise<void> {
  await loadInTurns(createRequire(require.resolve(COMPILER)), PIECES);
  await loadInTurns(require, [COMPILER]);
  const compile = makeCompiler({}, { customOptions: { validateSchema: false } });
  await nextTurn();
  for (const schema of SMALL) {
    compile({ schema, method: '', url: '' });
    await nextTurn();
  }
}

const makeCompiler = (shared: Shared, options: object): FastifySchemaCompiler<object> =>
  (require(COMPILER) as () => ValidatorFactory)()(shared as never, options as never) as never;

/** The ids of the shared schemas that a schema refers to, directly or through others, in reverse order of discovery. */
function referredBy(schema: unknown, shared: Shared): readonly string[] {
  const found = new Set<string>();
  const find = (referring: unknown) => {
    for (const [, id = ''] of JSON.stringify(referring).matchAll(/"\$ref":"([^"#]+)#"/g)) {
      if (found.has(id) || shared[id] === undefined) continue;
      found.add(id);
      find(shared[id]);
    }
  };
  find(schema);
  return [...found].reverse();
}

const nameOf = ({ method, url }: { readonly method?: unknown; readonly url?: string }): string =>
  `${String(method)} ${url}`;

/** Adds a hook that waits for `prepare`. Once that is done, it calls back at once, because a hook that returns a promise would slow every request. */
function waitFirst(route: RouteOptions, prepare: () => Promise<void>): void {
  let isPrepared = false;
  const hooks = [route.preValidation ?? []].flat();
  const ready = async () => {
    await prepare();
    isPrepared = true;
  };
  const hook: preValidationHookHandler = (_request, _reply, proceed) => {
    if (isPrepared) proceed();
    else ready().then(() => proceed(), proceed);
  };
  route.preValidation = [hook, ...hooks];
}
