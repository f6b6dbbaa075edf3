/**
 * What must not have happened, and the files it is kept in: `test/fixtures/fuzz/<target>/<hash>.bin`, and beside it what happened as text.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** An input and what came of it. */
export interface Finding {
  /** `crash`: an error that the target does not expect. `slow`: over the limit each time. `hang`: it had to be ended. */
  readonly kind: 'crash' | 'slow' | 'hang';
  readonly target: string;
  readonly input: Uint8Array;
  readonly what: string;
}

const FIXTURES = join(import.meta.dirname, '../fixtures/fuzz');
const HASH_LENGTH = 16;

/**
 * Writes a finding.
 * @param folder where those of each target have a folder
 * @returns the path of the input
 */
export function keepFinding({ kind, target, input, what }: Finding, folder = FIXTURES): string {
  const name = createHash('sha256').update(input).digest('hex').slice(0, HASH_LENGTH);
  const path = join(folder, target, name);
  mkdirSync(join(folder, target), { recursive: true });
  writeFileSync(`${path}.bin`, input);
  writeFileSync(`${path}.txt`, `${kind}\n${what}\n`);
  return `${path}.bin`;
}

/** The inputs kept of a target, with the names of their files. */
export function keptInputs(target: string): readonly { readonly name: string; readonly input: Buffer }[] {
  const folder = join(FIXTURES, target);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.bin'));
  return names.toSorted().map((name) => ({ name, input: readFileSync(join(folder, name)) }));
}
