/**
 * Lets operations with an optional body be called without one.
 */
import type { preValidationHookHandler } from 'fastify';

/** Treats a missing body as an empty object, for operations that require no field. */
export const absentBodyIsEmpty: preValidationHookHandler = (request, _reply, done) => {
  if (request.body === undefined) request.body = {};
  done();
};
