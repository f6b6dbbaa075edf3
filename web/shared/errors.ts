/**
 * Errors of the API: the sentence, and the field that the sentence is about.
 */

/** An answer that is not a success, or no answer at all (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** The id that the operator finds in the log. */
  readonly requestId: string | undefined;
  /** Seconds after which it makes sense to try again. */
  readonly retryAfterS: number | undefined;

  constructor(status: number, code: string, message: string, requestId?: string, retryAfterS?: number) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfterS = retryAfterS;
  }

  /** The field of the request that is wrong, as in `profiles[0].width`; undefined when the error is about none. */
  get field(): string | undefined {
    return fieldOf(this.message);
  }
}

/** Whether asking again would have the same answer: what was asked for is gone, or the rules of the API key do not allow it. */
export const isFinal = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'not_found' || error.code === 'insufficient_scope');

/** The field that a sentence of the API speaks of: "The field profiles[0].width must be ...". */
export function fieldOf(sentence: string): string | undefined {
  return /^The (?:field|query parameter) ([\w.[\]]+)/.exec(sentence)?.[1];
}

/** The sentence to show for anything that was thrown. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : 'Something failed in this page; load it again.';
}
