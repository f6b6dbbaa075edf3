/**
 * Runs the queries of all kinds of records on one engine: reads, pages, and changes with their receipts.
 */
import { randomUUID } from 'node:crypto';
import { MillraceError } from '#domain/errors.ts';
import type { NodeId } from '#domain/ids.ts';
import { oncePerRun } from '#lib/once-per-run.ts';
import type { Soon } from '#lib/soon.ts';
import type { Milliseconds } from '#lib/units.ts';
import { type StoreAnnouncement, textOfAnnouncement } from './announcement.ts';
import { type Engine, type FirstRows, type Query, Unchanged, UniqueViolation } from './engine.ts';
import { LookupBudget } from './lookup-budget.ts';
import { PAGE_BYTES, type Page, type PageKey, type PageOptions, type Scope } from './page.ts';
import { changingOne } from './prepared-query.ts';
import { auditQueries, rowOfAudit } from './queries/audit.ts';
import { idempotencyQueries, keyOfClaim } from './queries/idempotency.ts';
import { type PageArgs, rangeArgs } from './queries/lists.ts';
import type { WriterArgs } from './queries/nodes.ts';
import { ReadCache } from './read-cache.ts';
import type { IdempotencyClaim, Receipt } from './receipt.ts';
import { storeUnavailable } from './unavailable.ts';

/** Milliseconds that a lookup which anybody can cause may wait for its turn. */
const STRANGERS_WAIT_MS = 5000;

/** The options of a change. */
export interface ChangeOptions {
  /** Announced after the commit. */
  readonly announce?: readonly StoreAnnouncement[];
  /** The text of the `conflict` error when a row with the same unique value exists. */
  readonly taken?: string;
}

/** Runs queries. */
export class Runner {
  /** A unique id of this opening of the store. A restarted process gets another one. */
  readonly incarnation = randomUUID();
  readonly #engine: Engine;
  readonly #cache: ReadCache;
  readonly #strangersCache: ReadCache;
  readonly #strangers = new LookupBudget(STRANGERS_WAIT_MS);
  readonly #audit: ReturnType<typeof auditQueries>;
  readonly #idempotency: ReturnType<typeof idempotencyQueries>;
  readonly #onUnnumbered = new Set<() => void>();

  constructor(engine: Engine) {
    this.#engine = engine;
    const version = oncePerRun(() => engine.version());
    this.#cache = new ReadCache(version);
    this.#strangersCache = new ReadCache(version);
    this.#audit = auditQueries(engine.compiler);
    this.#idempotency = idempotencyQueries(engine.compiler);
  }

  /** Reads all rows as records. */
  async all<Row, Item>(query: Query<Row>, itemOf: (row: Row) => Item): Promise<Item[]> {
    return (await this.#engine.read(query)).map(itemOf);
  }

  /** Reads the first row as a record, if there is one. */
  async one<Row, Item>(query: Query<Row>, itemOf: (row: Row) => Item): Promise<Item | undefined> {
    const [row] = await this.#engine.read(query);
    return row && itemOf(row);
  }

  /** Whether a query finds any row. */
  async exists(query: Query): Promise<boolean> {
    return (await this.#engine.read(query)).length > 0;
  }

  /** Reads the number that a counting query gives. */
  async count(query: Query<{ readonly count: number }>): Promise<number> {
    return (await this.one(query, ({ count }) => count)) ?? 0;
  }

  /** Like `one`, with a cache, for reads at every request. Callers share the record, and get it at once while it is remembered. */
  cachedSoon<Row, Item>(query: Query<Row>, itemOf: (row: Row) => Item): Soon<Item | undefined> {
    return this.#cache.get(query, () => this.one(query, itemOf));
  }

  /** Like `cachedSoon`, but always with a promise. */
  async cachedOne<Row, Item>(query: Query<Row>, itemOf: (row: Row) => Item): Promise<Item | undefined> {
    return await this.cachedSoon(query, itemOf);
  }

  /**
   * Like `cachedOne`, for lookups that anybody can cause with invented names. They have a budget and a cache of their own, so that a flood
   * of them neither delays other reads nor displaces their cached answers.
   * @param address the address that caused the lookup; undefined when no stranger did
   */
  async strangersOne<Row, Item>(
    query: Query<Row>,
    itemOf: (row: Row) => Item,
    address: string | undefined,
  ): Promise<Item | undefined> {
    return await this.#strangersCache.get(query, () => this.#strangers.run(address, () => this.one(query, itemOf)));
  }

  /** Like `all`, within the budget for lookups that anybody can cause. */
  strangersAll<Row, Item>(query: Query<Row>, itemOf: (row: Row) => Item, address: string | undefined): Promise<Item[]> {
    return this.#strangers.run(address, () => this.all(query, itemOf));
  }

  /**
   * Reads one page of a list.
   * @param queryOf makes the query for a number of rows; it gets one more than `limit`, which shows whether there is a next page
   */
  async page<Row, Item>(
    limit: number,
    queryOf: (limit: number) => Query<Row>,
    itemOf: (row: Row) => Item,
    keyOf: (item: Item) => PageKey,
  ): Promise<Page<Item>> {
    const found = await this.first(queryOf(limit + 1), itemOf, PAGE_BYTES);
    const rows = found.rows.slice(0, limit);
    const last = rows.at(-1);
    const hasMore = found.isCut || found.rows.length > limit;
    return { rows, next: hasMore && last !== undefined ? keyOf(last) : undefined };
  }

  /** Reads one page of a list, the newest records first. @param queryOf makes the query for a part of the list */
  newestFirst<Row, Item extends { readonly id: string; readonly createdAt: Milliseconds }>(
    { limit, after }: PageOptions,
    queryOf: (args: PageArgs) => Query<Row>,
    itemOf: (row: Row) => Item,
  ): Promise<Page<Item>> {
    const range = rangeArgs({}, 'desc', after);
    const keyOf = ({ createdAt, id }: Item) => ({ at: createdAt, id });
    return this.page(limit, (rows) => queryOf({ ...range, limit: rows }), itemOf, keyOf);
  }

  /** Reads the first rows as records. See {@link Engine.readFirst}. */
  async first<Row, Item>(query: Query<Row>, itemOf: (row: Row) => Item, maxBytes: number): Promise<FirstRows<Item>> {
    const found = await this.#engine.readFirst(query, maxBytes);
    return { ...found, rows: found.rows.map(itemOf) };
  }

  /** Runs queries in one transaction and returns how many rows each changed. @throws {Unchanged} {UniqueViolation} */
  async write(queries: readonly Query[], announcements: readonly StoreAnnouncement[] = []): Promise<number[]> {
    let addsEvents = false;
    try {
      const results = await this.#engine.write(queries, announcements.map(textOfAnnouncement));
      addsEvents = queries.some((query, index) => query.addsEvents === true && results[index]!.changes > 0);
      return results.map(({ changes }) => changes);
    } catch (error) {
      // The write may have happened.
      addsEvents = error instanceof MillraceError && error.code === 'outcome_unknown';
      throw error;
    } finally {
      if (addsEvents) for (const listener of this.#onUnnumbered) listener();
    }
  }

  /** Like `write`, but resolves with undefined, and has changed nothing, when a query did not change as many rows as it must. */
  async attempt(
    queries: readonly Query[],
    announcements: readonly StoreAnnouncement[] = [],
  ): Promise<number[] | undefined> {
    try {
      return await this.write(queries, announcements);
    } catch (error) {
      if (!(error instanceof Unchanged)) throw error;
      return undefined;
    }
  }

  /** Runs one query and returns how many rows it changed. */
  async changed(query: Query): Promise<number> {
    const [changes = 0] = await this.write([query]);
    return changes;
  }

  /** See `Store.events.onUnnumbered`. */
  onUnnumbered(listener: () => void): Disposable {
    this.#onUnnumbered.add(listener);
    return { [Symbol.dispose]: () => void this.#onUnnumbered.delete(listener) };
  }

  /** The arguments that identify this process as the writer, for queries that only the holder of the node's lease may make. */
  writer(node: NodeId): WriterArgs {
    return { writer: node, incarnation: this.incarnation };
  }

  /**
   * Runs queries of which the last one changes something only when the writer is the owner and holds its lease. Returns whether it did.
   * @param isOwned returns a row when the writer is the owner, whether or not it holds its lease at the moment
   * @param reports run in the same write for any owner: they add the events for what is stored
   * @throws {MillraceError} `store_unavailable` when only the lease was missing: try again once it is renewed
   */
  async writeAsOwner(queries: readonly Query[], isOwned: Query, reports: readonly Query[] = []): Promise<boolean> {
    const changes = await this.write([...queries, ...reports]);
    if (changes[queries.length - 1] !== 0) return true;
    return this.mustHaveLapsed(isOwned);
  }

  /**
   * Determines why an owner's write changed nothing. Returns false when the writer is not the owner any more.
   * @throws {MillraceError} `store_unavailable` when the writer is still the owner, so that its lease must have run out
   */
  async mustHaveLapsed(isOwned: Query): Promise<false> {
    if (!(await this.exists(isOwned))) return false;
    throw storeUnavailable('this node does not hold its lease');
  }

  /**
   * Makes a change that somebody requested, in one write with its receipts. Returns whether every query changed as many rows as it must.
   * @throws {MillraceError} `conflict` when a row with the same unique value exists, or a repeat of the request has taken over its claim
   */
  async change(
    queries: readonly Query[],
    receipts: readonly Receipt[],
    { announce = [], taken = 'It already exists.' }: ChangeOptions = {},
  ): Promise<boolean> {
    const all = [...queries, ...receipts.flatMap((receipt) => this.#entries(receipt))];
    const changes = await this.attempt(all, announce).catch((error: unknown) => {
      throw error instanceof UniqueViolation ? new MillraceError('conflict', taken, { cause: error }) : error;
    });
    if (changes !== undefined) return true;
    for (const { answer } of receipts) if (answer !== undefined) await this.#mustHold(answer.claim);
    return false;
  }

  /** The queries that store a receipt. */
  #entries({ audit, answer }: Receipt): Query[] {
    const entry = this.#audit.add(rowOfAudit(audit));
    if (answer === undefined) return [entry];
    const { claim, sealed } = answer;
    return [entry, changingOne(this.#idempotency.answer({ ...keyOfClaim(claim), answer: sealed }))];
  }

  async #mustHold(claim: IdempotencyClaim): Promise<void> {
    const { claimed_at: claimedAt, ...request } = keyOfClaim(claim);
    const holds = await this.one(
      this.#idempotency.get(request),
      (row) => row.claimed_at === claimedAt && row.answer === null,
    );
    if (holds === true) return;
    throw new MillraceError(
      'conflict',
      'A repeat of this request was carried out in the meantime; the answer to the repeat is valid.',
    );
  }
}

/** The arguments that limit a query to what a scope may see. */
export const ofScope = (scope: Scope) => (scope === 'everyone' ? {} : { user_id: scope });
