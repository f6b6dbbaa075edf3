/**
 * Bodies of operations that may do without one.
 */
import type { preValidationHookHandler } from 'fastify';

/** No body stands for an empty object, where every field may be left out. */
export const absentBodyIsEmpty: preValidationHookHandler = (request, _reply, done) => {
  if (request.body === undefined) request.body = {};
  done();
};
