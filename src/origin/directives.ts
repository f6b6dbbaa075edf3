/**
 * Delivery directives: the query parameters of a blocking playlist request (rfc8216bis §6.2.5.2).
 */
import { MillraceError } from '#domain/errors.ts';
import type { PlaylistDirectives } from '#hls/hls.ts';

/**
 * Reads the directives from a parsed query string. Other parameters, including those with the reserved prefix `_HLS_`, are ignored, so that
 * a token or counter added by others does not break playback.
 * @throws {MillraceError} `invalid_request` when a value is not a number, or a part is named without its segment
 */
export function parseDirectives(query: Readonly<Record<string, unknown>>): PlaylistDirectives {
  const msn = parseNumber(query, '_HLS_msn');
  const part = parseNumber(query, '_HLS_part');
  if (part !== undefined && msn === undefined) {
    throw new MillraceError('invalid_request', '_HLS_part names a part of a segment; send _HLS_msn too.');
  }
  const skip = query._HLS_skip === 'YES' || query._HLS_skip === 'v2';
  return { ...(msn === undefined ? {} : { msn }), ...(part === undefined ? {} : { part }), ...(skip ? { skip } : {}) };
}

function parseNumber(query: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const value = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw new MillraceError('invalid_request', `${name} must be one decimal integer, 0 or more.`);
  }
  return value;
}
