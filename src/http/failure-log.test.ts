import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ErrorCode, MillraceError } from '#domain/errors.ts';
import { createLogger } from '#telemetry/logger.ts';
import { FailureLog } from './failure-log.ts';

function setUp() {
  const lines: Record<string, unknown>[] = [];
  const log = new FailureLog(createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) }));
  const fail = (code: ErrorCode, route: string, requestId = '1') =>
    log.failed({ requestId, route }, new MillraceError(code, 'A sentence.', { cause: new Error('the cause') }));
  return { lines, fail };
}

test('further failures of the same kind are counted, and logged once after a second', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { lines, fail } = setUp();
  for (let n = 0; n < 100; n += 1) fail('store_unavailable', '/stream', String(n));
  fail('store_unavailable', '/session');
  assert.deepEqual(
    lines.map(({ requestId, route, reason }) => [requestId, route, reason]),
    [
      ['0', '/stream', 'the cause'],
      ['1', '/session', 'the cause'],
    ],
  );
  t.mock.timers.tick(1000);
  assert.deepEqual([lines.length, lines[2]?.route, lines[2]?.failures], [3, '/stream', 99]);
  fail('store_unavailable', '/stream');
  assert.equal(lines.length, 4);
});

test('an unexpected failure is logged with its stack, an unreachable node without one', () => {
  const { lines, fail } = setUp();
  fail('internal_error', '/stream');
  fail('node_unreachable', '/hls/:playbackId/index.m3u8');
  assert.match(JSON.stringify(lines[0]?.err), /failure-log\.test\.ts/);
  assert.equal(lines[1]?.err, undefined);
});

test('failures that are not our fault are not logged', () => {
  const { lines, fail } = setUp();
  for (const code of ['not_found', 'playlist_timeout', 'too_many_requests'] as const) fail(code, '/stream');
  assert.deepEqual(lines, []);
});
