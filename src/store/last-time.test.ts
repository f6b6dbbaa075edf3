import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CautiousClock } from '#lib/cautious-clock.ts';
import { DAY_MS, HOUR_MS, ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { believableTime, LastTime } from './last-time.ts';

const NOW = Date.UTC(2026, 10, 26);
const IN_2040 = Date.UTC(2040, 0, 1);

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-time-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Runs a server for some hours with its clock set to `now`. Returns the time by which it would delete data, at its start and at its end,
 * and how often it doubted its clock.
 * @param running what happens before the server ends
 */
async function run(dataDir: string, { now, hours }: { now: number; hours: number }, running = () => {}) {
  const machine = { now, monotonic: 0 };
  const doubts: number[] = [];
  const clock = new CautiousClock({
    clock: { now: () => ms(machine.now), monotonic: () => ms(machine.monotonic) },
    startedAt: believableTime(dataDir, ms(now), silentLogger),
    onDoubt: (aheadMs) => doubts.push(aheadMs),
  });
  const first = clock.now();
  {
    await using _ = new LastTime({ dataDir, clock, logger: silentLogger });
    machine.now += hours * HOUR_MS;
    machine.monotonic += hours * HOUR_MS;
    running();
  }
  return { first, last: clock.now(), doubts: doubts.length };
}

test('data does not expire by a clock that is years ahead at the start, however often the server is restarted', async (t) => {
  const dataDir = newFolder(t);
  assert.deepEqual(await run(dataDir, { now: NOW, hours: 5 }), { first: NOW, last: NOW + 5 * HOUR_MS, doubts: 0 });
  for (let restart = 1; restart <= 3; restart += 1) {
    const { first, last, doubts } = await run(dataDir, { now: IN_2040, hours: 20 });
    assert.ok(first >= NOW && last < NOW + 5 * DAY_MS, new Date(last).toISOString());
    assert.equal(doubts, 1);
  }
  const right = await run(dataDir, { now: NOW + 3 * DAY_MS, hours: 1 });
  assert.deepEqual([right.first, right.doubts], [NOW + 3 * DAY_MS, 0]);
});

test('the time is believed when the server was off for days, when it has run for a day, and when the file is deleted', async (t) => {
  const dataDir = newFolder(t);
  await run(dataDir, { now: NOW, hours: 1 });
  assert.equal((await run(dataDir, { now: NOW + 6 * DAY_MS, hours: 1 })).doubts, 0);
  const later = NOW + 30 * DAY_MS;
  const long = await run(dataDir, { now: later, hours: 25 });
  assert.deepEqual([long.doubts, long.last], [1, later + 25 * HOUR_MS]);
  rmSync(join(dataDir, 'last-time'));
  assert.equal((await run(dataDir, { now: IN_2040, hours: 1 })).doubts, 0);
});

test('a file that an operator deletes while the server doubts its clock stays deleted when the server stops', async (t) => {
  const dataDir = newFolder(t);
  await run(dataDir, { now: NOW, hours: 1 });
  const later = NOW + 30 * DAY_MS;
  assert.equal((await run(dataDir, { now: later, hours: 1 }, () => rmSync(join(dataDir, 'last-time')))).doubts, 1);
  const { first, doubts } = await run(dataDir, { now: later + DAY_MS, hours: 1 });
  assert.deepEqual([first, doubts], [later + DAY_MS, 0]);
});

test('with a clock at 1970 nothing is deleted, and a server that starts with the right clock believes it at once', async (t) => {
  const dataDir = newFolder(t);
  await run(dataDir, { now: NOW, hours: 1 });
  assert.ok((await run(dataDir, { now: 0, hours: 1 })).last < DAY_MS);
  const { first, doubts } = await run(dataDir, { now: NOW + DAY_MS, hours: 1 });
  assert.deepEqual([first, doubts], [NOW + DAY_MS, 0]);
  const fresh = newFolder(t);
  await run(fresh, { now: 0, hours: 1 });
  assert.equal((await run(fresh, { now: NOW, hours: 1 })).doubts, 0);
});

test('the time is written while the server runs, to a file that only its owner can read, and a damaged file stops nothing', async (t) => {
  const dataDir = newFolder(t);
  const path = join(dataDir, 'last-time');
  let now = NOW;
  const clock = { now: () => ms(now), doubtedMs: undefined };
  await using _ = new LastTime({ dataDir, clock, logger: silentLogger, everyMs: 5 });
  now += DAY_MS;
  await waitFor(() => readdirSync(dataDir).includes('last-time') && readFileSync(path, 'utf8').includes('11-27'), {
    what: 'the new time',
  });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const damaged = newFolder(t);
  for (const content of ['no time', '']) {
    writeFileSync(join(damaged, 'last-time'), content);
    assert.equal(believableTime(damaged, ms(IN_2040), silentLogger), IN_2040);
  }
  const unreadable = newFolder(t);
  mkdirSync(join(unreadable, 'last-time'));
  assert.equal(believableTime(unreadable, ms(IN_2040), silentLogger), IN_2040);
});
