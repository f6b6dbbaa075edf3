/**
 * The databases the store can be kept in, by name. A new one is a file in `engines/` and a line here; the suite in
 * `store.contract.ts` says whether it is one.
 */
import type { OpenEngine } from './engine.ts';
import { openSqlite } from './engines/sqlite.ts';

/** How each is opened. */
export const ENGINES = {
  sqlite: openSqlite,
} as const satisfies Record<string, OpenEngine>;

/** A name of {@link ENGINES}. */
export type EngineName = keyof typeof ENGINES;
