import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '#config.ts';
import { needs } from '../support/tools.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const textOf = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');

test('every line of the example environment is a comment or a setting the server takes', () => {
  const lines = textOf('millrace.env.example').split('\n');
  const assignments = lines.flatMap((line) => line.match(/^#?(MILLRACE_\w+)=(.+)$/)?.slice(1, 3) ?? []);
  assert.ok(assignments.length > 20);
  const names = assignments.filter((_, index) => index % 2 === 0);
  assert.equal(new Set(names).size, names.length, 'no setting twice');
  for (const line of lines) assert.match(line, /^(#?MILLRACE_\w+=.+|# .*|)$/);
  const environment = Object.fromEntries(names.map((name, index) => [name, assignments[2 * index + 1]]));
  assert.doesNotThrow(() => readConfig(environment));
});

test('systemd finds nothing wrong with the unit', needs('systemd-analyze'), () => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(DEPLOY, 'millrace.service')], {
    encoding: 'utf8',
  });
  // Of other units of the machine it may have something to say as well.
  assert.deepEqual(
    stderr.split('\n').filter((line) => line.includes('millrace')),
    [],
  );
  assert.equal(status, 0, stderr);
});

test('the unit starts again without end, as a database that is away may come back, but not with wrong settings', () => {
  const unit = textOf('millrace.service');
  assert.match(unit, /^RestartPreventExitStatus=2$/m);
  assert.match(unit, /^StartLimitIntervalSec=0$/m);
});
