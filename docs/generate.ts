/**
 * Writes `docs/reference/` from the code itself: every setting, error code, warning and metric, and the OpenAPI document. `node docs/generate.ts` writes the
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
import { openApiDocument } from './openapi.ts';

const FOLDER = join(import.meta.dirname, 'reference');
const NOTICE = '<!-- Written by docs/generate.ts; change the code, then run it. -->';

/** What each error means to the client that gets it. */
const ERROR_MEANINGS: Record<ErrorCode, string> = {
  malformed_json: 'The body is not JSON.',
  invalid_cursor: 'The `cursor` does not come from a `Link` header of this list.',
  invalid_request: 'The request breaks the rules of HTTP, or one of its parameters is wrong.',
  unauthenticated: 'The API key is missing, wrong or revoked.',
  playback_unauthorized:
    'The stream has a playback policy, and the request does not prove a right to watch it: the token or access key is missing or not valid.',
  insufficient_scope: 'The API key is limited to other methods or resources.',
  admin_only: 'Only an administrator may do this.',
  user_suspended: 'The user of this API key is suspended.',
  quota_exceeded:
    'The request would exceed a quota of the user; `GET /user/me` shows the quotas and how much of them is used.',
  origin_not_allowed:
    'The page that asks to play the stream is not among those that its owner allows. For a sign-in: the request comes from a page other than the dashboard.',
  not_found: 'The object does not exist, or it belongs to another user.',
  stream_offline: 'The stream is not live; ask again later.',
  method_not_allowed: 'The path does not take this method; `Allow` names those it takes.',
  request_timeout: 'The request was not received completely in time.',
  conflict: 'The request conflicts with the present state; the error text says how.',
  body_too_large: 'The body is larger than any valid request needs.',
  unsupported_media_type: 'The body is not declared as `application/json`.',
  range_not_satisfiable: 'The byte range begins after the end of the resource.',
  invalid_body: 'A field of the body breaks its rules; the error text names the field.',
  clip_out_of_range: 'A part of the requested clip was not recorded; the error text says which times were.',
  not_recorded: 'The stream or session of the requested clip was not recorded.',
  idempotency_key_reused: 'The same `Idempotency-Key` was used for another request, or with another API key.',
  too_many_requests:
    'The API key, or all keys of its user together, made too many requests or sign-ins in a minute, or too many answers are stored for its requests with an `Idempotency-Key`. The error text says which, and `Retry-After` when to try again.',
  too_many_terminates: 'The stream was terminated less than 5 s ago.',
  too_many_attempts: 'Too many wrong keys came from this address; `Retry-After` says when to try again.',
  headers_too_large: 'The headers are larger than the server accepts.',
  internal_error: 'The server failed; its log explains the failure under the `requestId`.',
  not_implemented: 'Millrace does not support this yet.',
  dashboard_unavailable: 'The dashboard could not be bundled on this server; everything else works.',
  node_unreachable: 'The server that has the stream does not answer.',
  recording_unavailable: 'The recording cannot be read from the disk or the bucket now. Try again in a moment.',
  playback_check_failed:
    'The webhook of the owner of the stream, which decides who may watch, did not answer correctly.',
  test_picture_unavailable:
    'The server cannot publish a test picture: FFmpeg is not installed, or too many test pictures are running already. The error text says which.',
  store_unavailable: 'The database does not answer. Nothing was changed.',
  too_many_viewers: 'The server or the stream has reached its limit of viewers.',
  playlist_timeout: 'The publisher has sent nothing new for three target durations.',
  shutting_down: 'The server is shutting down.',
  outcome_unknown:
    'The database did not answer in time, so the change may or may not have been made. Repeat the request with the same `Idempotency-Key`, or check what was done.',
};

/** What each refusal means. The user of the encoder gets a longer sentence. */
const REFUSAL_MEANINGS: Record<Refusal['code'], string> = {
  stream_key_invalid: 'There is no such stream key.',
  stream_key_in_use: 'Another publisher uses this stream key, and has sent data within the last 3 s.',
  stream_suspended: 'The stream, or its user, is suspended.',
  too_many_attempts: 'Too many wrong keys came from this address.',
  too_many_publishers: 'The server has reached its limit of publishers.',
  media_memory_exhausted: 'The media memory of the server, or of the user, is used up.',
  quota_exceeded: 'The user has reached its quota of publishers, or of publishes in a minute.',
  ingest_bitrate_exceeded: 'The publisher sent a higher bitrate than the quota of its user allows.',
  service_unavailable: 'The database does not answer, so the key cannot be checked.',
  stream_deleted: 'The stream was deleted.',
  stream_key_rotated: 'The stream got a new key, and the publisher used the old one.',
  replaced_by_new_publisher: 'The publisher sent nothing for a while, and another publisher took over.',
  terminated: 'The API or the operator ended the broadcast.',
  timestamps_unusable: 'The timestamps of the publisher jumped several times a second, for half a minute.',
  internal_error: 'An internal error of the server ended the publish.',
};

/** What each end of a session means. */
const END_MEANINGS: Record<EndReason, string> = {
  unpublished: 'The publisher stopped the broadcast.',
  reconnect_window_elapsed: 'The connection was lost, and no publisher came back within the reconnect window.',
  replaced:
    'The publisher came back with other codecs, or after `profiles` or `record` of the stream were changed, so a new session began.',
  no_media: 'The publisher left before there was anything to play.',
  media_memory_exhausted: 'The media memory of the server, or of the user, was used up.',
  ingest_bitrate_exceeded: 'The publisher sent a higher bitrate than the quota of its user allows.',
  timestamps_unusable: 'The timestamps of the publisher jumped several times a second, for half a minute.',
  internal_error: 'An internal error of the server ended the session.',
  terminated: 'The API or the operator ended the broadcast.',
  suspended: 'The stream, or its user, was suspended.',
  deleted: 'The stream was deleted.',
  key_rotated: 'The stream got a new key, and the publisher used the old one.',
  node_lost: 'The server that had the session stopped without ending it.',
};

/** Text of every reference file, by name. */
export async function referenceFiles(): Promise<Readonly<Record<string, string>>> {
  return {
    'settings.md': settings(),
    'errors.md': errors(),
    'warnings.md': warnings(),
    'metrics.md': metrics(),
    'openapi.json': `${JSON.stringify(await openApiDocument(), null, 1)}\n`,
  };
}

function settings(): string {
  const sections = Object.entries(SETTINGS).map(([stage, group]) => {
    const rows = Object.values<Setting<unknown>>(group).map(({ name, fallback, help }) => {
      const value = fallback === undefined ? 'not set' : fallback === '' ? 'empty' : code(fallback);
      return [code(PREFIX + name), value, help];
    });
    return `## ${stage}\n\n${table(['setting', 'default', 'meaning'], rows)}`;
  });
  return page(
    'Settings',
    'All settings are environment variables, which are read once when the server starts.',
    sections,
  );
}

function errors(): string {
  const answers = Object.entries(ERRORS).map(([name, { status, fault }]) => {
    return [code(name), String(status), fault, ERROR_MEANINGS[name as ErrorCode]];
  });
  const refusals = REFUSAL_CODES.map((name) => [code(name), REFUSAL_MEANINGS[name]]);
  const ends = END_REASONS.map((name) => [code(name), END_MEANINGS[name]]);
  return page('Errors', 'Codes never change their meaning, and later versions may add some.', [
    `## Answers over HTTP\n\n${table(['code', 'status', 'fault of', 'meaning'], answers)}`,
    `## Why publishers are refused or disconnected\n\n${table(['code', 'meaning'], refusals)}`,
    `## Why sessions end\n\n${table(['reason', 'meaning'], ends)}`,
  ]);
}

function warnings(): string {
  const sections = Object.entries(WARNINGS).map(([name, { severity, lastsS, meaning, remedy }]) => {
    const stands = lastsS === undefined ? 'as long as the state lasts' : `for ${lastsS} s after the event`;
    const kind = severity === 'issue' ? 'An issue' : 'A notice';
    return `## ${code(name)}\n\n${kind}. It is shown ${stands}.\n\n**Means:** ${meaning}\n\n**What to do:** ${remedy}`;
  });
  const text =
    'The warnings in `health.warnings` of a stream or session while media is coming in. An issue makes the stream unhealthy (`isHealthy`, `issues`), a notice does not. Codes never change their meaning, and later versions may add some.';
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
  for (const [name, text] of Object.entries(await referenceFiles())) writeFileSync(join(FOLDER, name), text);
}
