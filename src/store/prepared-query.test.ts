import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import type { UserId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import type { Database, UsersTable } from './database.ts';
import { prepare } from './prepared-query.ts';

const db = new Kysely<Database>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (kysely) => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});
const user = (name: string) => ({ id: `id of ${name}` as UserId, name, created_at: ms(7) });

describe('a prepared query', () => {
  it('is compiled once and filled with the arguments of each call', () => {
    let built = 0;
    const byName = prepare((args: Pick<UsersTable, 'name'>) => {
      built += 1;
      return db.selectFrom('users').select('id').where('name', '=', args.name).limit(1);
    });
    for (const name of ['a', 'b']) {
      assert.deepEqual(byName({ name }), {
        sql: 'select "id" from "users" where "name" = $1 limit $2',
        parameters: [name, 1],
      });
    }
    assert.equal(built, 1);
  });

  it('accepts arguments in any order, and an argument that is used twice', () => {
    const rename = prepare(({ id, ...set }: Pick<UsersTable, 'id' | 'name' | 'created_at'>) =>
      db.updateTable('users').set(set).where('id', '=', id),
    );
    const { id, name, created_at } = user('a');
    const [one, other] = [rename({ id, name, created_at }), rename({ created_at, name, id })];
    assert.deepEqual(one.parameters, ['a', 7, 'id of a']);
    assert.deepEqual(other.parameters, [7, 'a', 'id of a']);
    const twice = prepare((args: Pick<UsersTable, 'name'>) =>
      db
        .selectFrom('users')
        .selectAll()
        .where((eb) => eb.or([eb('name', '=', args.name), eb('name', '>', args.name)])),
    );
    assert.deepEqual(twice({ name: 'x' }).parameters, ['x', 'x']);
  });

  it('is compiled again for other keys, so that absent columns stay as they are', () => {
    const change = prepare(({ id, ...set }: Pick<UsersTable, 'id'> & Partial<UsersTable>) =>
      db.updateTable('users').set(set).where('id', '=', id),
    );
    const id = 'x' as UserId;
    assert.equal(change({ id, name: 'n' }).sql, 'update "users" set "name" = $1 where "id" = $2');
    assert.equal(change({ id, created_at: ms(1) }).sql, 'update "users" set "created_at" = $1 where "id" = $2');
  });
});
