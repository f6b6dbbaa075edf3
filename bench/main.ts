/**
 * Runs every bench, or the groups and benches named on the command line, and prints their results as a table.
 *
 * `--write` keeps the results in `bench/results.json` and writes `bench/README.md` from it. `--long` takes the time that the questions ask
 * for, `--cycles N` sets the number of publish/stop cycles, and `--only TEXT` takes only the attacks whose name contains the text.
 * A bench that ran while the machine was needed for something else is repeated, and its results are not kept if that never ends.
 */
import { parseArgs } from 'node:util';
import { GROUPS } from './benches.ts';
import { InvalidRunError } from './support/question.ts';
import { keepRows, printRow, type Row, rowsOf, TABLE_HEAD } from './support/results.ts';
import { MachineUse } from './support/validity.ts';

const ATTEMPTS = 3;

const { values, positionals: asked } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    cycles: { type: 'string' },
    only: { type: 'string' },
  },
  allowPositionals: true,
});
const cycles = values.cycles === undefined ? undefined : Number(values.cycles);
const benches = Object.entries(GROUPS).flatMap(([group, each]) =>
  Object.entries(each).map(([name, bench]) => ({ group, name, bench })),
);
const unknown = asked.filter((name) => !benches.some((each) => each.group === name || each.name === name));
const problems = [
  ...(cycles === undefined || (Number.isSafeInteger(cycles) && cycles > 0)
    ? []
    : [`--cycles is ${values.cycles} but must be a whole number above 0.`]),
  ...(unknown.length === 0
    ? []
    : [`There is no bench ${unknown.join(', ')}. Groups: ${Object.keys(GROUPS).join(', ')}.`]),
];
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(2);
}

console.log(TABLE_HEAD);
for (const { group, name, bench } of benches) {
  if (asked.length > 0 && !asked.includes(group) && !asked.includes(name)) continue;
  const rows = await validRows(name, () => bench({ long: values.long, cycles, only: values.only }));
  if (rows === undefined) process.exitCode = 1;
  else if (values.write) keepRows(name, rows, { areAll: values.only === undefined });
}

/** Runs a bench until the machine did nothing else meanwhile. Undefined when that never happened. */
async function validRows(name: string, run: () => ReturnType<(typeof benches)[number]['bench']>) {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    using use = new MachineUse();
    let rows: readonly Row[] = [];
    let invalid: string | undefined;
    try {
      rows = rowsOf(name, await run(), values.long);
    } catch (error) {
      if (!(error instanceof InvalidRunError)) throw error;
      invalid = error.message;
    }
    invalid ??= use.whyInvalid();
    for (const row of rows) console.log(printRow(row));
    if (invalid === undefined) return rows;
    console.log(`\nInvalid, run ${attempt} of ${ATTEMPTS} of ${name}: ${invalid}.\n`);
  }
  return undefined;
}
