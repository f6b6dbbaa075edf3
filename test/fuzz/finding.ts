/**
 * Findings, and the files that keep them: the input in `test/fixtures/fuzz/<target>/<hash>.bin`, and beside it a text about what happened.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** An input that broke a promise of the parser, and what happened. */
export interface Finding {
  /** `crash`: an error that the target does not expect. `slow`: too long every time it was read. `hang`: reading it never ended. */
  readonly kind: 'crash' | 'slow' | 'hang';
  readonly target: string;
  readonly input: Uint8Array;
  readonly what: string;
}

const FIXTURES = join(import.meta.dirname, '../fixtures/fuzz');
/** The URL with which a stack names the files of this checkout. */
const CHECKOUT = `${pathToFileURL(join(import.meta.dirname, '../..')).href}/`;
const HASH_LENGTH = 16;

/**
 * Writes the files of a finding.
 * @param folder in which each target has a folder of its own
 * @returns the path of the input
 */
export function keepFinding({ kind, target, input, what }: Finding, folder = FIXTURES): string {
  const name = createHash('sha256').update(input).digest('hex').slice(0, HASH_LENGTH);
  const path = join(folder, target, name);
  mkdirSync(join(folder, target), { recursive: true });
  writeFileSync(`${path}.bin`, input);
  writeFileSync(`${path}.txt`, `${kind}\n${what.replaceAll(CHECKOUT, '')}\n`);
  return `${path}.bin`;
}

/** The inputs that were kept for a target, with the names of their files. */
export function keptInputs(target: string): readonly { readonly name: string; readonly input: Buffer }[] {
  const folder = join(FIXTURES, target);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.bin'));
  return names.toSorted().map((name) => ({ name, input: readFileSync(join(folder, name)) }));
}
