import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ms } from '#lib/units.ts';
import { type Logger, silentLogger } from '#telemetry/logger.ts';
import { OutageLog } from './outage-log.ts';

it('logs an outage at once, then once a second with the number of failed calls, and its end when calls succeed again', () => {
  const lines: string[] = [];
  let now = 0;
  const note = (fields: object, message: string) => {
    lines.push(`${now} ${message} ${JSON.stringify(fields)}`);
  };
  const logger: Logger = { ...silentLogger, error: note, info: note };
  const log = new OutageLog(logger, { now: () => ms(0), monotonic: () => ms(now) });

  log.succeeded();
  for (now = 0; now < 2500; now += 100) {
    log.failed('disk full');
    // Some calls still succeed, so the outage is not over.
    log.succeeded();
  }
  for (now = 2500; now < 5000; now += 100) log.succeeded();
  now = 5000;
  log.failed('gone');

  assert.deepEqual(lines, [
    '0 store unavailable {"reason":"disk full","failures":1}',
    '1000 store unavailable {"reason":"disk full","failures":10}',
    '2000 store unavailable {"reason":"disk full","failures":10}',
    '3400 store available again {"failures":4}',
    '5000 store unavailable {"reason":"gone","failures":1}',
  ]);
});
