import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptInputs } from './finding.ts';
import { attempt, Fuzzer } from './fuzzer.ts';
import { DEFAULT_MAX_BYTES } from './target.ts';
import { TARGETS } from './targets.ts';

/** Enough inputs to see that a target works. `npm run fuzz` looks for new findings. */
const INPUTS = 3000;
/** Every run of the tests tries the same inputs. */
const SEED = 15;
/** A clock that stands still: tests run on machines of any speed, so they must not judge how long anything takes. */
const timeless = () => 0;

for (const target of TARGETS) {
  test(`${target.name} keeps its promises for every kept input and for ${target.inputsInTests ?? INPUTS} mutated ones`, async () => {
    await using reader = { [Symbol.asyncDispose]: async () => {}, ...(await target.open()) };
    for (const { name, input } of keptInputs(target.name)) {
      const outcome = await attempt(target, reader, input, timeless);
      if (outcome.type === 'crash') assert.fail(`${name}: ${String(outcome.error)}`);
    }
    const fuzzer = new Fuzzer(target, reader, { seed: SEED, now: timeless, busyMs: timeless });
    await fuzzer.run(target.inputsInTests ?? INPUTS);
    assert.deepEqual(
      fuzzer.report.findings.map(({ what }) => what),
      [],
    );
  });
}

test('every target has room for its recorded inputs, accepts at least one of them, and breaks on none', async () => {
  for (const target of TARGETS) {
    const reader = await target.open();
    const outcomes = [];
    const longest = Math.max(...target.corpus.map(({ length }) => length));
    assert.ok(
      longest <= (target.maxBytes ?? DEFAULT_MAX_BYTES),
      `${target.name} has recorded inputs of ${longest} bytes`,
    );
    for (const input of target.corpus) outcomes.push(await attempt(target, reader, Buffer.from(input), timeless));
    await reader[Symbol.asyncDispose]?.();
    const kinds = outcomes.map((outcome) => (outcome.type === 'fine' ? outcome.accepted : undefined));
    assert.ok(kinds.includes(true), `${target.name} accepts none of its recorded inputs`);
    assert.ok(!kinds.includes(undefined), `${target.name} breaks on a recorded input`);
  }
});
