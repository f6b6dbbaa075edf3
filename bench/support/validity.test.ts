import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { treeCpuMs } from './process-usage.ts';
import { type Use, whyInvalid } from './validity.ts';

const MINUTE_OF_TWO_CORES = { elapsedMs: 60_000, cores: 2, stolenMs: 0, busyMs: 100_000, ownMs: 100_000 };

describe('a measurement', () => {
  const cases: readonly (readonly [what: string, use: Partial<Use>, reason: RegExp | undefined])[] = [
    ['counts when all the CPU in use was its own', {}, undefined],
    ['counts when little was taken away', { stolenMs: 5000, ownMs: 96_000 }, undefined],
    ['is invalid when the host took CPU away', { stolenMs: 7000 }, /host took away 5\.8 %/],
    ['is invalid beside other programs', { ownMs: 90_000 }, /other programs used 8\.3 %/],
  ];
  for (const [what, use, reason] of cases) {
    it(what, () => {
      const found = whyInvalid({ ...MINUTE_OF_TWO_CORES, ...use });
      if (reason === undefined) assert.equal(found, undefined);
      else assert.match(found ?? '', reason);
    });
  }
});

describe('the CPU time of a process tree', { skip: process.platform !== 'linux' && 'reads /proc' }, () => {
  it('includes children of children, also after they have ended', async () => {
    const before = treeCpuMs(process.pid);
    const child = spawn('sh', ['-c', `${process.execPath} -e "while (process.cpuUsage().user < 300_000);"; true`]);
    await once(child, 'exit');
    assert.ok(treeCpuMs(process.pid) - before >= 50);
  });
});
