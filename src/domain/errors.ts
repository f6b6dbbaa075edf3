/**
 * The catalogue of errors: everything Millrace refuses or fails at, with its code, HTTP status and whose fault it is.
 */

/** Whose fault an error is: decides log level and whether trying again can help. */
export type Fault = 'caller' | 'publisher' | 'destination' | 'service';

/** Every error Millrace answers with. The code is part of the interface: add, never rename. */
export const ERRORS = {
  malformed_json: { status: 400, fault: 'caller' },
  invalid_cursor: { status: 400, fault: 'caller' },
  invalid_request: { status: 400, fault: 'caller' },
  unauthenticated: { status: 401, fault: 'caller' },
  playback_unauthorized: { status: 401, fault: 'caller' },
  insufficient_scope: { status: 403, fault: 'caller' },
  admin_only: { status: 403, fault: 'caller' },
  user_suspended: { status: 403, fault: 'caller' },
  quota_exceeded: { status: 403, fault: 'caller' },
  origin_not_allowed: { status: 403, fault: 'caller' },
  not_found: { status: 404, fault: 'caller' },
  stream_offline: { status: 404, fault: 'caller' },
  method_not_allowed: { status: 405, fault: 'caller' },
  request_timeout: { status: 408, fault: 'caller' },
  conflict: { status: 409, fault: 'caller' },
  body_too_large: { status: 413, fault: 'caller' },
  unsupported_media_type: { status: 415, fault: 'caller' },
  range_not_satisfiable: { status: 416, fault: 'caller' },
  invalid_body: { status: 422, fault: 'caller' },
  clip_out_of_range: { status: 422, fault: 'caller' },
  not_recorded: { status: 422, fault: 'caller' },
  idempotency_key_reused: { status: 422, fault: 'caller' },
  too_many_requests: { status: 429, fault: 'caller' },
  too_many_terminates: { status: 429, fault: 'caller' },
  too_many_attempts: { status: 429, fault: 'caller' },
  headers_too_large: { status: 431, fault: 'caller' },
  internal_error: { status: 500, fault: 'service' },
  not_implemented: { status: 501, fault: 'caller' },
  dashboard_unavailable: { status: 503, fault: 'service' },
  node_unreachable: { status: 503, fault: 'service' },
  playback_check_failed: { status: 503, fault: 'destination' },
  recording_unavailable: { status: 503, fault: 'service' },
  test_picture_unavailable: { status: 503, fault: 'service' },
  store_unavailable: { status: 503, fault: 'service' },
  too_many_viewers: { status: 503, fault: 'service' },
  playlist_timeout: { status: 503, fault: 'publisher' },
  shutting_down: { status: 503, fault: 'service' },
  outcome_unknown: { status: 504, fault: 'service' },
} as const satisfies Record<string, { status: number; fault: Fault }>;

/** A code of {@link ERRORS}. */
export type ErrorCode = keyof typeof ERRORS;

/** An error that is sent to a client. Its message is a sentence for that client, without secrets or internal details. */
export class MillraceError extends Error {
  readonly code: ErrorCode;
  /** Seconds after which trying again makes sense, where it does. */
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retryAfterS?: number } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'MillraceError';
    this.code = code;
    this.retryAfterS = options.retryAfterS;
  }

  /** The HTTP status of the answer. */
  get status(): number {
    return ERRORS[this.code].status;
  }

  /** Whose fault the error is, which decides about the log level and about retries. */
  get fault(): Fault {
    return ERRORS[this.code].fault;
  }
}
