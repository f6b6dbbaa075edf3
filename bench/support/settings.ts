/**
 * Settings of a server whose interface is measured.
 */

/** It counts requests, as it would, but never refuses one, and logs as it does unless told otherwise. */
export const MEASURED = { MILLRACE_LOG_LEVEL: 'info', MILLRACE_API_RATE_LIMIT: '100000000' } as const;
