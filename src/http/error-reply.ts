/**
 * What an error looks like over HTTP: `{"errors":["a sentence"],"code":"snake_case","requestId":"..."}`, whatever threw it.
 */
import type { FastifyError, FastifyReply } from 'fastify';
import { ERRORS, type ErrorCode, MillraceError } from '#domain/errors.ts';
import { violationSentence } from './validation-sentence.ts';

/** The largest request body in bytes: a stream with every profile allowed is a tenth of it. */
export const BODY_LIMIT_BYTES = 102_400;

/** Errors Fastify itself raises, in our words. */
const FASTIFY_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [
    'body_too_large',
    `The body is larger than ${BODY_LIMIT_BYTES} bytes; send a shorter one.`,
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'The body must be JSON; send it with the header content-type: application/json.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_request',
    'The body is not as long as the content-length header says; send the right length.',
  ],
  FST_ERR_BAD_URL: ['invalid_request', 'The path has a % that does not start a valid escape; encode it as %25.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'There is nothing under this path; check the address.'],
};

/** Statuses whose answer says when to try again; without a better number, after this many seconds. */
const RETRY_AFTER_S: Readonly<Record<number, number>> = { 429: 1, 503: 1, 504: 1 };

/** Any error in the catalogue's words. One that is not of the catalogue tells nothing of itself. */
export function toMillraceError(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const { validation, validationContext, code, statusCode } = error as Partial<FastifyError>;
  const violation = validation?.[0];
  if (violation) {
    const context = validationContext ?? 'body';
    return new MillraceError(
      context === 'body' ? 'invalid_body' : 'invalid_request',
      violationSentence(violation, context),
    );
  }
  const known = code === undefined ? undefined : FASTIFY_ERRORS[code];
  if (known) return new MillraceError(known[0], known[1]);
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new MillraceError('invalid_request', 'The request cannot be understood; check its headers and its path.');
  }
  return new MillraceError(
    'internal_error',
    'Something failed on our side; try again, and give the operator the request id if it keeps failing.',
    { cause: error },
  );
}

/** The body of an error answer. */
export function errorBody(error: MillraceError, requestId: string) {
  return { errors: [error.message], code: error.code, requestId };
}

/**
 * Answers with an error. A `cache-control` the route already set stays, so that a route can make its errors cacheable.
 */
export function sendError(reply: FastifyReply, error: MillraceError, requestId: string): FastifyReply {
  const { status } = ERRORS[error.code];
  reply.code(status);
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  const retryAfterS = error.retryAfterS ?? RETRY_AFTER_S[status];
  if (retryAfterS !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterS))));
  return reply.type('application/json; charset=utf-8').send(errorBody(error, requestId));
}
