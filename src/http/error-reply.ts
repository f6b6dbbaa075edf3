/**
 * The form of every error over HTTP: `{"errors":["a sentence"],"code":"snake_case","requestId":"..."}`. A browser may get a page instead.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ERRORS, type ErrorCode, MillraceError } from '#domain/errors.ts';
import { violationSentence } from './validation-sentence.ts';

/** The largest request body in bytes. A stream with as many profiles as are allowed takes a tenth of it. */
export const BODY_LIMIT_BYTES = 102_400;

/**
 * Makes the page that a browser shows for an error, or names the relative address of the page that it opens instead. Returns undefined when
 * the answer must be JSON.
 */
export type ErrorPage = (
  request: FastifyRequest,
  error: MillraceError,
) =>
  | { readonly html: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly location: string }
  | undefined;

/** Errors that Fastify raises, with our codes and messages. */
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
  FST_ERR_BAD_URL: [
    'invalid_request',
    'The path has a % that is not followed by two hexadecimal digits; write %25 for a percent sign.',
  ],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'There is nothing at this path; check the address.'],
};

/** The statuses whose answers have the header `Retry-After`, and its value in seconds where the error has none. */
const RETRY_AFTER_S: Readonly<Record<number, number>> = { 429: 1, 503: 1, 504: 1 };

/** Converts anything thrown to an error of the catalogue. An unexpected error becomes `internal_error`, which reveals nothing about it. */
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
 * Answers with an error: as a page, or as a redirect to a page, if one is given, and otherwise as JSON. Keeps a `cache-control` that the
 * route has set, so that a route can make its errors cacheable.
 */
export function sendError(
  reply: FastifyReply,
  error: MillraceError,
  requestId: string,
  page?: ReturnType<ErrorPage>,
): FastifyReply {
  const { status } = ERRORS[error.code];
  reply.code(status);
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  const retryAfterS = error.retryAfterS ?? RETRY_AFTER_S[status];
  if (retryAfterS !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterS))));
  if (page !== undefined && 'location' in page) return reply.redirect(page.location, 302);
  if (page !== undefined) return reply.headers(page.headers).type('text/html; charset=utf-8').send(page.html);
  return reply.type('application/json; charset=utf-8').send(errorBody(error, requestId));
}
