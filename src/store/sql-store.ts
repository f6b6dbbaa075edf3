/**
 * The store on any engine: domain records in, queries out, rows back into domain records.
 */
import { MillraceError } from '#domain/errors.ts';
import type { UserId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import { type Engine, type Query, UniqueViolation } from './engine.ts';
import { apiKeyOfRow, apiKeyQueries, rowOfApiKey } from './queries/api-keys.ts';
import { rowOfSession, rowOfSessionChange, sessionOfRow, sessionQueries } from './queries/sessions.ts';
import { rowOfStream, streamOfRow, streamQueries } from './queries/streams.ts';
import { rowOfUser, userOfRow, userQueries } from './queries/users.ts';
import { ReadCache } from './read-cache.ts';
import type { Page, PageKey, Store } from './store.ts';

/** The store on `engine`, which it owns from now on. */
export function storeOn(engine: Engine): Store {
  const users = userQueries(engine.compiler);
  const apiKeys = apiKeyQueries(engine.compiler);
  const streams = streamQueries(engine.compiler);
  const sessions = sessionQueries(engine.compiler);
  const cache = new ReadCache(() => engine.version());

  /** The first row as a record, if there is a row. */
  async function one<Row, Item>(query: Query<Row>, itemOf: (row: Row) => Item): Promise<Item | undefined> {
    const [row] = await engine.read(query);
    return row && itemOf(row);
  }

  /** As `one`, for what is asked at every request. */
  function cachedOne<Row, Item>(query: Query<Row>, itemOf: (row: Row) => Item): Promise<Item | undefined> {
    return cache.get(query, () => one(query, itemOf));
  }

  /** Runs the queries all or nothing and says how many rows the last one changed. */
  async function change(...queries: readonly Query[]): Promise<number> {
    const results = await engine.write(queries);
    return results.at(-1)?.changes ?? 0;
  }

  /** As `change`, for what may be there already. */
  async function add(query: Query, taken: string): Promise<void> {
    try {
      await change(query);
    } catch (error) {
      if (error instanceof UniqueViolation) throw new MillraceError('conflict', taken, { cause: error });
      throw error;
    }
  }

  return {
    users: {
      async ensure(user) {
        const known = await one(users.byName({ name: user.name }), userOfRow);
        if (known !== undefined) return known;
        await change(users.add(rowOfUser(user)));
        const now = await one(users.byName({ name: user.name }), userOfRow);
        if (now === undefined) throw new Error('a user just added is not there');
        return now;
      },
      byName: (name) => one(users.byName({ name }), userOfRow),
    },

    apiKeys: {
      create: (key) =>
        add(
          apiKeys.create(rowOfApiKey(key)),
          'The user has a key of that name already; revoke it or take another name.',
        ),
      async createFirst(user, key) {
        const { user_id: _, revoked_at: __, ...row } = rowOfApiKey(key);
        const first = apiKeys.createFirst({ ...row, user_name: user.name });
        return (await change(users.addFirst(rowOfUser(user)), first)) === 1;
      },
      byHash: (secretHash) => cachedOne(apiKeys.byHash({ secret_hash: secretHash }), apiKeyOfRow),
      async list() {
        const rows = await engine.read(apiKeys.list({}));
        return rows.map((row) => ({ ...apiKeyOfRow(row), userName: row.user_name }));
      },
      revoke: async (id, at) => (await change(apiKeys.revoke({ id, at }))) === 1,
    },

    streams: {
      create: (stream) =>
        add(streams.create(rowOfStream(stream)), 'A stream with that id, key or playback id exists already.'),
      get: (id, owner) => cachedOne(streams.get({ id, user_id: owner }), streamOfRow),
      async byStreamKey(key) {
        const stream = await one(streams.byStreamKeyHash({ stream_key_hash: key.hash() }), streamOfRow);
        return stream?.streamKey.equals(key) ? stream : undefined;
      },
      byPlaybackId: (id) => cachedOne(streams.byPlaybackId({ playback_id: id }), streamOfRow),
      list: (owner, options) => listStreams(owner, options),
      async setActivity(id, { isActive, lastSeen }) {
        await change(streams.setActivity({ id, is_active: isActive ? 1 : 0, last_seen: lastSeen }));
      },
    },

    sessions: {
      async create(session) {
        await change(sessions.create(rowOfSession(session)));
      },
      get: (id, owner) => cachedOne(sessions.get({ id, user_id: owner }), sessionOfRow),
      async change(id, changed) {
        const row = rowOfSessionChange(changed);
        if (Object.keys(row).length > 0) await change(sessions.change({ id, ...row }));
      },
      async inPhases(phases) {
        const rows = await engine.read(sessions.inPhases(Object.fromEntries(phases.entries())));
        return rows.map(sessionOfRow);
      },
    },

    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };

  async function listStreams(owner: UserId, options: { limit: number; after?: PageKey }): Promise<Page<Stream>> {
    // One more than asked tells whether there is a next page.
    const page = { user_id: owner, limit: options.limit + 1 };
    const after = options.after;
    const query =
      after === undefined
        ? streams.firstPage(page)
        : streams.nextPage({ ...page, created_at: after.createdAt, id: after.id as Stream['id'] });
    const found = (await engine.read(query)).map(streamOfRow);
    const rows = found.slice(0, options.limit);
    const last = rows.at(-1);
    const next = found.length > rows.length && last ? { createdAt: last.createdAt, id: last.id } : undefined;
    return { rows, next };
  }
}
