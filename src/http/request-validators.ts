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

const require = createRequire(import.meta.url);
const COMPILER = '@fastify/ajv-compiler';
/** Modules of the compiler, in pieces of a few milliseconds. */
const PIECES = [
  'ajv/dist/compile/codegen',
  'ajv/dist/compile/validate',
  'fast-uri',
  'ajv/dist/core',
  'ajv/dist/vocabularies/draft7',
  'ajv',
  'ajv-formats',
];

/** The validators of one server. */
export class RequestValidators {
  /** The steps that compile the validators of each route. Each step is short, and does nothing when it is repeated. */
  readonly #steps = new Map<string, readonly (() => void)[]>();
  #loaded: Promise<void> | undefined;

  /** Makes the function that Fastify asks for a validator of each part of each route's requests. */
  readonly build = ((schemas: never, options: never): FastifySchemaCompiler<object> => {
    let compile: ReturnType<ValidatorFactory> | undefined;
    const compiler = () => (compile ??= (require(COMPILER) as () => ValidatorFactory)()(schemas, options));
    return (part) => {
      let validate: Validator | undefined;
      const validator = () => (validate ??= compiler()(part) as unknown as Validator);
      const name = nameOf(part);
      this.#steps.set(name, [...(this.#steps.get(name) ?? []), compiler, validator]);
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
    const steps = this.#steps.get(route);
    if (steps === undefined) return; // no part of its requests has a schema
    this.#loaded ??= loadInTurns(createRequire(require.resolve(COMPILER)), PIECES).then(() =>
      loadInTurns(require, [COMPILER]),
    );
    await this.#loaded;
    for (const step of steps) {
      step();
      await nextTurn();
    }
  }
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
