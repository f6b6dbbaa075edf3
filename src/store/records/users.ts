/**
 * The store's users.
 */

import { MillraceError } from '#domain/errors.ts';
import type { Engine } from '#store/engine.ts';
import { changingOne } from '#store/prepared-query.ts';
import { rowOfUser, rowOfUserChange, userOfRow, userQueries } from '#store/queries/users.ts';
import type { Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';
import { readMany } from './read-many.ts';

const LAST_ADMIN =
  'This is the last active admin, who can be neither suspended nor demoted; make another user an admin first.';
const TAKEN = 'There is already a user with this name; choose another name.';

/** Makes the store's users. */
export function userRecords(runner: Runner, { compiler, patched }: Engine): Store['users'] {
  const users = userQueries(compiler, patched);
  return {
    async ensure(user) {
      const known = await runner.one(users.byName({ name: user.name }), userOfRow);
      if (known !== undefined) return known;
      await runner.write([users.ensure(rowOfUser(user))]);
      const now = await runner.one(users.byName({ name: user.name }), userOfRow);
      if (now === undefined) throw new Error('a user that was just created is missing');
      return now;
    },

    async create(user, receipt) {
      await runner.change([users.create(rowOfUser(user))], [receipt], { taken: TAKEN });
    },

    get: (id) => runner.cachedOne(users.get({ id }), userOfRow),
    getMany: (ids) => readMany(ids, (run) => runner.all(users.getMany(run), userOfRow)),
    byName: (name) => runner.one(users.byName({ name }), userOfRow),

    list: (page) => runner.newestFirst(page, users.page, userOfRow),

    async change(id, change, receipt) {
      const row = { id, ...rowOfUserChange(change) };
      const options = { announce: [{ type: 'user_changed', userId: id }], taken: TAKEN } as const;
      if (change.isAdmin !== false && change.suspended !== true) {
        return runner.change([changingOne(users.change(row))], [receipt], options);
      }
      const queries = [users.holdAdmins({}), changingOne(users.changeUnlessLastAdmin(row))];
      const isChanged = await runner.change(queries, [receipt], options);
      if (!isChanged && (await runner.one(users.get({ id }), userOfRow)))
        throw new MillraceError('conflict', LAST_ADMIN);
      return isChanged;
    },
  };
}
