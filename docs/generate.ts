/**
 * Writes `docs/reference/` from the code itself: every setting, error code, warning and metric. `node docs/generate.ts` writes the
 * files; the tests refuse a tree whose files are not what it would write.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PREFIX, SETTINGS } from '#config.ts';
import { ERRORS, type ErrorCode } from '#domain/errors.ts';
import { END_REASONS, type EndReason } from '#domain/session.ts';
import { WARNINGS } from '#domain/warnings.ts';
import { REFUSAL_CODES, type Refusal } from '#ingest/ingest.ts';
import type { Setting } from '#lib/setting.ts';
import { createMetrics } from '#telemetry/metrics.ts';

const FOLDER = join(import.meta.dirname, 'reference');
const NOTICE = '<!-- Written by docs/generate.ts; change the code, then run it. -->';

/** What each error means to the one who gets it. */
const ERROR_MEANINGS: Record<ErrorCode, string> = {
  malformed_json: 'The body is not JSON.',
  invalid_cursor: 'The `cursor` is not one that a list gave.',
  invalid_request: 'The request breaks HTTP, or a parameter of it is wrong.',
  unauthenticated: 'There is no API key, or it is wrong or revoked.',
  insufficient_scope: 'The API key is limited to other methods or resources.',
  admin_only: 'Only an administrator may do this.',
  user_suspended: 'The user of this API key is suspended.',
  quota_exceeded: 'The user already has as many as its quota allows; `GET /user/me` shows the quotas and what is used.',
  not_found: 'There is nothing there, or it belongs to somebody else.',
  stream_offline: 'The stream shows nothing now; ask again later.',
  method_not_allowed: 'The path does not take this method; `Allow` names those it takes.',
  request_timeout: 'The request did not come whole in time.',
  conflict: 'It contradicts what is there already.',
  body_too_large: 'The body is larger than any valid one.',
  unsupported_media_type: 'The body is not declared as `application/json`.',
  range_not_satisfiable: 'The byte range begins behind the end.',
  invalid_body: 'A field of the body breaks its rules; the sentence names it.',
  idempotency_key_reused: 'The same `Idempotency-Key` came with another request or another API key.',
  too_many_requests: 'The API key has used up its rate; `Retry-After` says when to go on.',
  too_many_terminates: 'The stream was terminated moments ago.',
  too_many_attempts: 'Too many wrong keys came from this address; `Retry-After` says when to go on.',
  headers_too_large: 'The headers are larger than any client needs.',
  internal_error: 'A fault of the server; its log tells more under the `requestId`.',
  not_implemented: 'Other services have this; Millrace does not yet.',
  node_unreachable: 'The server that has the stream does not answer.',
  store_unavailable: 'The database does not answer. Nothing was changed.',
  too_many_viewers: 'The server has as many viewers as it may have.',
  playlist_timeout: 'What was asked for did not come in three target durations: the publisher stalls.',
  shutting_down: 'The server is ending.',
  outcome_unknown:
    'The database did not answer in time, so the change may or may not have been made. Repeat the request with the same `Idempotency-Key`, or check what was done.',
};

/** What each refusal means; the encoder's user reads a longer sentence. */
const REFUSAL_MEANINGS: Record<Refusal['code'], string> = {
  stream_key_invalid: 'There is no such stream key.',
  stream_key_in_use: 'Somebody is publishing with this key, and has been heard within 3 s.',
  stream_suspended: 'The stream may not be published to.',
  too_many_attempts: 'Too many wrong keys came from this address.',
  too_many_publishers: 'The server has as many publishers as it may have.',
  media_memory_exhausted: 'The media memory of the server, or of the user, is spent.',
  quota_exceeded:
    'The user already has as many publishers as its quota allows, or they began too often within a minute.',
  ingest_bitrate_exceeded: 'The publisher sent a higher bitrate than its user may.',
  service_unavailable: 'The key cannot be looked up now.',
  stream_deleted: 'The stream is no more.',
  stream_key_rotated: 'The stream has a new key, and the one published with is no more.',
  replaced_by_new_publisher: 'It fell silent, and another publisher took over.',
  terminated: 'It was ended by the API or the operator.',
  timestamps_unusable: 'The timestamps of the publisher jumped several times a second, for half a minute.',
  internal_error: 'An internal error of the server ended the publish.',
};

/** What each end of a session means. */
const END_MEANINGS: Record<EndReason, string> = {
  unpublished: 'The publisher said that it was done.',
  reconnect_window_elapsed: 'The connection was lost, and nobody came back in time.',
  replaced:
    'The publisher came back with other codecs, or the stream had got other profiles meanwhile: a new session began.',
  no_media: 'The publisher left before there was anything to play.',
  media_memory_exhausted: 'The media memory of the server, or of the user, was spent.',
  ingest_bitrate_exceeded: 'The publisher sent a higher bitrate than its user may.',
  timestamps_unusable: 'The timestamps of the publisher jumped several times a second, for half a minute.',
  internal_error: 'An internal error of the server ended the session.',
  terminated: 'It was ended by the API or the operator.',
  suspended: 'The stream, or its user, was suspended.',
  deleted: 'The stream was deleted.',
  key_rotated: 'The stream got a new key, and this publisher used the one before.',
  node_lost: 'The server that had it is gone.',
};

/** Text of every reference file, by name. */
export function referenceFiles(): Readonly<Record<string, string>> {
  return { 'settings.md': settings(), 'errors.md': errors(), 'warnings.md': warnings(), 'metrics.md': metrics() };
}

function settings(): string {
  const sections = Object.entries(SETTINGS).map(([stage, group]) => {
    const rows = Object.values<Setting<unknown>>(group).map(({ name, fallback, help }) => {
      const value = fallback === undefined ? 'not set' : fallback === '' ? 'empty' : code(fallback);
      return [code(PREFIX + name), value, help];
    });
    return `## ${stage}\n\n${table(['setting', 'default', 'meaning'], rows)}`;
  });
  return page('Settings', 'Environment variables, read once at the start.', sections);
}

function errors(): string {
  const answers = Object.entries(ERRORS).map(([name, { status, fault }]) => {
    return [code(name), String(status), fault, ERROR_MEANINGS[name as ErrorCode]];
  });
  const refusals = REFUSAL_CODES.map((name) => [code(name), REFUSAL_MEANINGS[name]]);
  const ends = END_REASONS.map((name) => [code(name), END_MEANINGS[name]]);
  return page('Errors', 'Codes never change their meaning; new ones may come.', [
    `## Answers over HTTP\n\n${table(['code', 'status', 'fault of', 'meaning'], answers)}`,
    `## Publishers refused or cut\n\n${table(['code', 'meaning'], refusals)}`,
    `## Why sessions end\n\n${table(['reason', 'meaning'], ends)}`,
  ]);
}

function warnings(): string {
  const sections = Object.entries(WARNINGS).map(([name, { severity, lastsS, meaning, remedy }]) => {
    const stands = lastsS === undefined ? 'as long as it is so' : `for ${lastsS} s after it happened`;
    const kind = severity === 'issue' ? 'An issue' : 'A notice';
    return `## ${code(name)}\n\n${kind}; it stands ${stands}.\n\n**Means:** ${meaning}\n\n**What to do:** ${remedy}`;
  });
  const text =
    'What a stream or session says of itself in `health.warnings` while media comes in. An issue makes it unhealthy (`isHealthy`, `issues`); a notice does not. Codes never change their meaning; new ones may come.';
  return page('Warnings', text, sections);
}

function metrics(): string {
  const rows = createMetrics()
    .registry.getMetricsAsArray()
    .map((metric) => {
      // prom-client keeps the labels, but does not declare them here.
      const { labelNames = [] } = metric as { labelNames?: readonly string[] };
      return [code(metric.name), String(metric.type), labelNames.map(code).join(', '), metric.help];
    });
  const text =
    "Node's own metrics (event loop, heap, CPU) are there as well: `millrace_nodejs_*` and `millrace_process_*`.";
  return page('Metrics', text, [table(['metric', 'type', 'labels', 'meaning'], rows)]);
}

function page(title: string, text: string, sections: readonly string[]): string {
  return `${NOTICE}\n\n# ${title}\n\n${text}\n\n${sections.join('\n\n')}\n`;
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');
}

const code = (text: string): string => `\`${text}\``;

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, text] of Object.entries(referenceFiles())) writeFileSync(join(FOLDER, name), text);
}
