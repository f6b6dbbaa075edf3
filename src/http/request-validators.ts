/**
 * Validators of requests, each compiled when the first request comes that needs it, and the compiler loaded with the first of all. Compiling
 * them all would take an eighth of the time to start, and a server seldom needs more than a few.
 */
import { createRequire } from 'node:module';
import type { ValidatorFactory } from '@fastify/ajv-compiler';
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';

/** What the compiler makes of a schema. */
interface Validator {
  (value: unknown): boolean;
  readonly errors: FastifySchemaValidationError[];
}

/** Makes the function that Fastify asks for a validator of each part of each route's requests. */
export const buildValidator = ((schemas: never, options: never): FastifySchemaCompiler<object> => {
  let compile: ReturnType<ValidatorFactory> | undefined;
  return (part) => {
    let validate: Validator | undefined;
    return (value) => {
      compile ??= loadCompiler()(schemas, options);
      validate ??= compile(part) as unknown as Validator;
      return validate(value) || { error: validate.errors };
    };
  };
}) as ValidatorFactory;

/** Loads it while the request waits: a validator that gives a promise would make every request slower. */
function loadCompiler(): ValidatorFactory {
  return createRequire(import.meta.url)('@fastify/ajv-compiler')();
}
