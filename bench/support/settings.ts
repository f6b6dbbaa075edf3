/**
 * Settings of a server whose interface is measured.
 */

/** The server counts requests as usual, but refuses none. It logs as usual, unless a bench changes that. */
export const MEASURED = { MILLRACE_LOG_LEVEL: 'info', MILLRACE_API_RATE_LIMIT: '100000000' } as const;
