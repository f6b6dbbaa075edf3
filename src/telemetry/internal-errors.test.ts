import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InternalErrors } from './internal-errors.ts';
import { type Logger, silentLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';

test('each error is counted, and each kind of them is logged once with its stack', async () => {
  const lines: { err?: Error }[] = [];
  const logger: Logger = { ...silentLogger, error: (fields) => void lines.push(fields) };
  const metrics = createMetrics();
  const errors = new InternalErrors({ logger, metrics });
  for (let index = 0; index < 1000; index++) errors.note('session', new TypeError(`no. ${index}`));
  errors.note('ingest', new RangeError('another'));
  errors.note('ingest', 'no error at all');
  assert.deepEqual(
    lines.map(({ err }) => (err instanceof Error ? err.message : err)),
    ['no. 0', 'another', 'no error at all'],
  );
  assert.match(String(lines[0]?.err?.stack), /internal-errors\.test\.ts/);
  const text = await metrics.registry.metrics();
  assert.match(text, /millrace_internal_errors_total\{where="session"\} 1000/);
  assert.match(text, /millrace_internal_errors_total\{where="ingest"\} 2/);
});

test('a thousand kinds of errors do not make a thousand lines', () => {
  let lines = 0;
  const logger: Logger = { ...silentLogger, error: () => void lines++ };
  const errors = new InternalErrors({ logger, metrics: createMetrics() });
  for (let index = 0; index < 1000; index++) {
    errors.note('process', Object.assign(new Error('x'), { stack: `Error: x\n    at line ${index}` }));
  }
  assert.equal(lines, 100);
});
