/**
 * The definitions that all parts of the contract suite share.
 */
import { after, before, beforeEach, describe } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import type { User } from '#domain/user.ts';
import type { Page, PageKey } from '#store/page.ts';
import type { Store } from '#store/store.ts';
import { someUser } from '#test/support/sample-records.ts';

/** Opens an empty store, which the caller disposes. */
export type OpenStore = () => Promise<Store>;

/** Long time limits for tests about something else, because the disk or cores of a test machine may be unavailable for seconds. */
export const PATIENT = { readTimeoutMs: 60_000, writeTimeoutMs: 60_000 } as const;

/** The store of a part of the suite, and a user made for the test. */
export interface Fixture {
  readonly store: Store;
  readonly user: User;
}

/** Makes a check that an error has this code of the catalogue. */
export const isMillraceError = (code: MillraceError['code']) => (error: unknown) =>
  error instanceof MillraceError && error.code === code;

/** Declares a part of the suite that runs on one store, with a new user for each test. */
export function describeOn(name: string, open: OpenStore, declare: (fixture: Fixture) => void): void {
  describe(name, () => {
    let store: Store;
    let user: User;
    before(async () => {
      store = await open();
    });
    beforeEach(async () => {
      user = await store.users.ensure(someUser());
    });
    after(() => store[Symbol.asyncDispose]());
    declare({
      get store() {
        return store;
      },
      get user() {
        return user;
      },
    });
  });
}

/** Reads all pages of a list. */
export async function walk<Row>(list: (after: PageKey | undefined) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  let after: PageKey | undefined;
  do {
    const page = await list(after);
    rows.push(...page.rows);
    after = page.next;
  } while (after !== undefined);
  return rows;
}
