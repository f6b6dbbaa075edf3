/**
 * Queries on events: how changes add them, how they are numbered, and how they are read.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { EventType, NewEvent, NewStreamEvent, ServiceEvent } from '#domain/events.ts';
import type { EventId, SessionId, StreamId, UserId } from '#domain/ids.ts';
import type { DeliveryState } from '#domain/webhook.ts';
import { DAY_MS, type Milliseconds } from '#lib/units.ts';
import type { Database, EventsTable } from '#store/database.ts';
import type { Query } from '#store/engine.ts';
import { compilable, type PreparedQuery, prepare, prepareEach } from '#store/prepared-query.ts';
import { alsoIs, type Condition, is } from './lists.ts';

/** An event's row without its position. */
export type NewEventRow = Omit<EventsTable, 'position' | 'sequence' | 'recorded_at'>;

/** The filter and range of a list of events. */
export interface EventListArgs {
  readonly user_id?: UserId;
  readonly stream_id?: StreamId;
  readonly type?: EventType;
  /** The sequence number after which the page begins, in the order of the list. */
  readonly after?: number;
  /** Bounds of the time at which events were numbered, both included. */
  readonly from?: number;
  readonly to?: number;
}

/** The longest wait of a delivery that a receiver may ask for (`Retry-After`). */
const LONGEST_WAIT_MS = DAY_MS;

/** The columns that an event is inserted with. */
const NEW_COLUMNS = ['id', 'type', 'at', 'user_id', 'stream_id', 'session_id', 'payload'] as const;

/** Prepares the queries for one dialect. @param now SQL for the database's clock */
export function eventQueries(db: Kysely<Database>, now: RawBuilder<Milliseconds>) {
  const text = (value: unknown) => sql<string>`cast(${value} as text)`;
  /** A time, or the database's time when it is null. */
  const timeOrNow = (value: unknown) => sql<Milliseconds>`coalesce(cast(${value} as bigint), ${now})`;

  /** SQL that inserts an event about the stream of a row. */
  function ofStream(event: {
    id: unknown;
    type: RawBuilder<unknown>;
    at: RawBuilder<unknown>;
    session_id: unknown;
    payload: unknown;
  }) {
    return sql`insert into events (${sql.join(NEW_COLUMNS.map((column) => sql.ref(column)))})
      select ${text(event.id)}, ${event.type}, ${event.at}, user_id, streams.id, ${text(event.session_id)}, ${text(event.payload)}
      from streams`;
  }

  /** SQL that inserts an event about the session of a row. */
  function ofSession(event: { id: unknown; type: EventType; at: RawBuilder<unknown>; payload: RawBuilder<unknown> }) {
    return sql`insert into events (${sql.join(NEW_COLUMNS.map((column) => sql.ref(column)))})
      select ${text(event.id)}, ${sql.lit(event.type)}, ${event.at}, user_id, stream_id, sessions.id, ${event.payload}
      from sessions`;
  }

  const isNumbered = sql<boolean>`sequence is not null`;
  const unnumbered = sql`select position from events where sequence is null order by position`;
  const last = sql`(select last from event_sequence)`;
  /** A time that lies ahead by more than `by_ms` and the longest wait of a delivery. */
  const beyondWaits = (byMs: number) => sql`(select ${now}) + cast(${byMs} as bigint) + ${sql.lit(LONGEST_WAIT_MS)}`;
  /** The events just numbered, with the webhooks that have chosen their type. */
  const chosen = sql`events
    join webhook_events on webhook_events.user_id = events.user_id and webhook_events.type = events.type
    join webhooks on webhooks.id = webhook_events.webhook_id
    where events.sequence > ${last} and events.type <> 'webhook.test' and webhooks.disabled_at is null
      and (webhooks.stream_id is null or webhooks.stream_id = events.stream_id)`;
  /**
   * The test events just numbered, each with the webhook that its payload names, whatever events and stream the webhook has chosen. The
   * `cross join` has SQLite begin with the events, of which there are few.
   */
  const tested = sql`events cross join webhooks
    where events.sequence > ${last} and events.type = 'webhook.test' and webhooks.disabled_at is null
      and webhooks.user_id = events.user_id and events.payload = '{"webhookId":"' || webhooks.id || '"}'`;

  return {
    /** Adds an event unless it exists. */
    add: adding(
      prepare((row: NewEventRow) =>
        db
          .insertInto('events')
          .values(row)
          .onConflict((conflict) => conflict.column('id').doNothing()),
      ),
    ),

    /** Adds an event about a stream, also a deleted one, for the stream's user. Does nothing when the event exists. */
    addOfStream: adding(
      prepare((args: Omit<NewEventRow, 'user_id'>) =>
        compilable(
          db,
          sql`${ofStream({ ...args, type: text(args.type), at: sql`cast(${args.at} as bigint)` })}
            where streams.id = ${args.stream_id} on conflict (id) do nothing`,
        ),
      ),
    ),

    /** Adds an event when a stream's activity differs from the one last reported. */
    reportActivity: adding(
      prepare((args: { id: EventId; stream_id: StreamId; at: Milliseconds | null }) =>
        compilable(
          db,
          sql`${ofStream({
            id: args.id,
            type: sql`case when is_active = 1 then 'stream.started' else 'stream.idle' end`,
            at: timeOrNow(args.at),
            session_id: null,
            payload: sql.lit('{}'),
          })} where streams.id = ${args.stream_id} and is_active <> reported_active`,
        ),
      ),
    ),

    /** Marks the activity as reported. Run it after `reportActivity`. */
    activityReported: prepare((args: { stream_id: StreamId }) =>
      db
        .updateTable('streams')
        .set((eb) => ({ reported_active: eb.ref('is_active') }))
        .where('id', '=', args.stream_id)
        .whereRef('is_active', '<>', 'reported_active'),
    ),

    /** Adds the event of a session that has begun, or that continues although its end was reported. */
    reportStart: adding(
      prepare((args: { id: EventId; session_id: SessionId; at: Milliseconds | null }) =>
        compilable(
          db,
          sql`${ofSession({
            id: args.id,
            type: 'session.started',
            at: timeOrNow(args.at),
            payload: sql`case when reported = 'ended' then '{"isResumed":true}' else '{"isResumed":false}' end`,
          })} where sessions.id = ${args.session_id} and phase <> 'starting'
            and (reported = '' or (reported = 'ended' and phase <> 'ended'))`,
        ),
      ),
    ),

    /** Adds the event of a session that has ended. Run it after `reportStart`. */
    reportEnd: adding(
      prepare((args: { id: EventId; session_id: SessionId }) =>
        compilable(
          db,
          sql`${ofSession({ id: args.id, type: 'session.ended', at: sql`coalesce(ended_at, last_seen)`, payload: END_PAYLOAD })}
            where sessions.id = ${args.session_id} and phase = 'ended' and reported <> 'ended'`,
        ),
      ),
    ),

    /** Marks the phase as reported. Run it after `reportStart` and `reportEnd`. */
    phaseReported: prepare((args: { session_id: SessionId }) =>
      db
        .updateTable('sessions')
        .set({ reported: sql`case when phase = 'ended' then 'ended' else 'started' end` })
        .where('id', '=', args.session_id)
        .where('phase', '<>', 'starting')
        .where(sql<boolean>`reported <> case when phase = 'ended' then 'ended' else 'started' end`),
    ),

    /** Locks the counter, so that one process numbers events at a time, and later queries of the write see what others have numbered. */
    holdSequence: prepare(() => db.updateTable('event_sequence').set((eb) => ({ last: eb.ref('last') }))),

    /** Gives the next numbers to the committed events that were inserted first. */
    number: prepare((args: { limit: number }) =>
      compilable(
        db,
        sql`update events set
          sequence = numbered.sequence,
          recorded_at = (select case when recorded_at > ${now} then recorded_at else ${now} end from event_sequence)
        from (
          select position, ${last} + row_number() over (order by position) as sequence
          from (${unnumbered} limit ${args.limit}) as first
        ) as numbered
        where events.position = numbered.position`,
      ),
    ),

    /** Creates the deliveries of the events that were just numbered. */
    deliver: prepare(() =>
      compilable(
        db,
        sql`insert into webhook_deliveries (webhook_id, sequence, state, attempts, created_at, next_at)
        select webhooks.id, events.sequence, 'pending', 0, ${now}, ${now} from ${chosen}
        union all
        select webhooks.id, events.sequence, 'pending', 0, ${now}, ${now} from ${tested}`,
      ),
    ),

    /**
     * Marks webhooks as due that got deliveries from the events just numbered. It writes, and so locks, also webhooks that are due already.
     * A concurrent `release` then either ends before this update, or waits for it and sees the new deliveries.
     */
    wakeWebhooks: prepare(() =>
      compilable(
        db,
        sql`update webhooks set due_at = case when due_at < ${now} then due_at else ${now} end
        where disabled_at is null and id in (
          select webhooks.id from ${chosen} union all select webhooks.id from ${tested}
        )`,
      ),
    ),

    /** Moves the counter to the last numbered event. */
    advance: prepare(() =>
      compilable(
        db,
        sql`update event_sequence set
          recorded_at = coalesce((select max(events.recorded_at) from events where sequence > last), recorded_at),
          last = coalesce((select max(sequence) from events where sequence > last), last)`,
      ),
    ),

    /** Returns a row when an event waits for its number. */
    waiting: prepare(() => db.selectFrom('events').select('position').where('sequence', 'is', null).limit(sql.lit(1))),

    /**
     * Returns a row when events are numbered at a time that is still ahead by more than `by_ms`, when a webhook is leased for longer than
     * that, or when a webhook or delivery waits for longer than that and the longest wait.
     */
    isAhead: prepare((args: { by_ms: number }) =>
      db
        .selectFrom('event_sequence')
        .select('last')
        .where(
          sql<boolean>`recorded_at > ${now} + cast(${args.by_ms} as bigint) or exists (
          select 1 from webhooks where due_at is not null and (
            due_at > ${beyondWaits(args.by_ms)} or leased_until > (select ${now}) + cast(${args.by_ms} as bigint)
            or exists (select 1 from webhook_deliveries
              where webhook_id = webhooks.id and state = 'pending' and next_at > ${beyondWaits(args.by_ms)})))`,
        ),
    ),

    /** Sets the times of numbered events that are ahead to the present, in the order of the list. Run `holdSequence` first. */
    setBack: prepare((args: { limit: number }) =>
      compilable(
        db,
        sql`update events set recorded_at = (select ${now}) where position in (
          select position from events where sequence is not null and recorded_at > (select ${now})
          order by recorded_at, sequence limit ${args.limit})`,
      ),
    ),

    /** Sets the time at which events are numbered to the present, once no event is ahead of it. Run `setBack` first. */
    sequenceSetBack: prepare(() =>
      compilable(
        db,
        sql`update event_sequence set recorded_at = (select ${now}) where recorded_at > (select ${now}) and not exists (
          select 1 from events where sequence is not null and recorded_at > (select ${now}))`,
      ),
    ),

    /** Sets the times of deliveries that are ahead to the present. */
    setDeliveriesBack: prepare((args: { state: DeliveryState; limit: number }) =>
      compilable(
        db,
        sql`update webhook_deliveries set created_at = ${now}, next_at = case when next_at > ${now} then ${now} else next_at end
        where (webhook_id, sequence) in (
          select webhook_id, sequence from webhook_deliveries
          where state = ${args.state} and created_at > (select ${now}) order by created_at limit ${args.limit})`,
      ),
    ),

    /**
     * Makes deliveries due now that would be tried again after more than `by_ms` and the longest wait. Their attempt failed while the clock
     * was ahead, so that they may be of the present themselves.
     */
    setRetriesBack: prepare((args: { by_ms: number; limit: number }) =>
      compilable(
        db,
        sql`update webhook_deliveries set next_at = ${now} where (webhook_id, sequence) in (
          select webhook_id, sequence from webhooks
          join webhook_deliveries on webhook_deliveries.webhook_id = webhooks.id
          where due_at is not null and state = 'pending' and next_at > ${beyondWaits(args.by_ms)} limit ${args.limit})`,
      ),
    ),

    /** Makes webhooks due now that are due later, and ends leases that run for longer than `by_ms`. */
    setWebhooksBack: prepare((args: { by_ms: number }) =>
      compilable(
        db,
        sql`update webhooks set due_at = case when due_at > ${now} then ${now} else due_at end,
          leased_until = case when leased_until > ${now} + cast(${args.by_ms} as bigint) then 0 else leased_until end
        where due_at is not null`,
      ),
    ),

    lastSequence: prepare(() => db.selectFrom('event_sequence').select(['last', 'recorded_at'])),

    page: prepareEach(
      ({ direction }: { direction: 'asc' | 'desc' }, { limit, ...args }: EventListArgs & { limit: number }) => {
        const page = db.selectFrom('events').selectAll().where(isNumbered).orderBy('sequence', direction).limit(limit);
        return conditionsOf(direction, args).reduce((query, condition) => query.where(condition), page);
      },
    ),

    get: prepare((args: { id: EventId }) => db.selectFrom('events').selectAll().where('id', '=', args.id)),

    deleteOlder: prepare((args: { before: Milliseconds; limit: number }) =>
      db
        .deleteFrom('events')
        .where('position', 'in', (eb) =>
          eb
            .selectFrom('events')
            .select('position')
            .where(isNumbered)
            .where('recorded_at', '<', args.before)
            .orderBy('recorded_at')
            .orderBy('sequence')
            .limit(args.limit),
        ),
    ),
  };
}

/** The prepared queries. */
export type EventQueries = ReturnType<typeof eventQueries>;

/** The conditions of a list. One index answers each: that of a stream and type, a stream, a user and type, a user, or of everybody. */
function conditionsOf(direction: 'asc' | 'desc', args: EventListArgs): Condition[] {
  const conditions: Condition[] = [];
  // The index by stream and type has the stream as an expression.
  if ('stream_id' in args) conditions.push(('type' in args ? alsoIs : is)('stream_id', args.stream_id));
  if ('type' in args) conditions.push(is('type', args.type));
  if ('user_id' in args) conditions.push(('stream_id' in args ? alsoIs : is)('user_id', args.user_id));
  if ('after' in args)
    conditions.push(direction === 'asc' ? sql`sequence > ${args.after}` : sql`sequence < ${args.after}`);
  // Times never go back along the list, so a bound of the time is a bound of the sequence.
  const firstSince = (time: number | undefined, isLater: RawBuilder<unknown>) =>
    sql`coalesce((select sequence from events where sequence is not null and recorded_at ${isLater} ${time}
      order by recorded_at, sequence limit 1), 9007199254740991)`;
  if ('from' in args) conditions.push(sql`sequence >= ${firstSince(args.from, sql`>=`)}`);
  if ('to' in args) conditions.push(sql`sequence < ${firstSince(args.to, sql`>`)}`);
  return conditions;
}

/** JSON text of the payload of `session.ended` from a session's row. Numbers and words of the domain need no escaping. */
const END_PAYLOAD = sql<string>`'{"reason":"' || coalesce(end_reason, 'unpublished') || '","startedAt":' || cast(created_at as text)
  || ',"endedAt":' || cast(coalesce(ended_at, last_seen) as text)
  || ',"sourceBytes":' || cast(source_bytes as text)
  || ',"sourceSegments":' || cast(source_segments as text)
  || ',"sourceSegmentsDuration":' || cast(source_segments_duration as text)
  || ',"transcodedBytes":' || cast(transcoded_bytes as text)
  || ',"transcodedSegments":' || cast(transcoded_segments as text)
  || ',"transcodedSegmentsDuration":' || cast(transcoded_segments_duration as text)
  || ',"peakViewers":' || cast(peak_viewers as text) || '}'`;

/**
 * The queries that add the event for a change of a stream's activity, to be run in the same write. The write must have locked the stream's
 * row.
 */
export function reportActivity(
  events: EventQueries,
  { id, streamId, at = null }: { readonly id: EventId; readonly streamId: StreamId; readonly at?: Milliseconds | null },
): Query[] {
  return [events.reportActivity({ id, stream_id: streamId, at }), events.activityReported({ stream_id: streamId })];
}

/**
 * The queries that add the events for a change of a session's phase, to be run in the same write. The write must have changed the session's
 * row.
 * @returns the query for the start of the session, the one for its end, and the one that notes that both are reported
 */
export function reportPhase(
  events: EventQueries,
  {
    ids: [start, end],
    sessionId,
    at = null,
  }: {
    readonly ids: readonly [EventId, EventId];
    readonly sessionId: SessionId;
    readonly at?: Milliseconds | null;
  },
): readonly [Query, Query, Query] {
  return [
    events.reportStart({ id: start, session_id: sessionId, at }),
    events.reportEnd({ id: end, session_id: sessionId }),
    events.phaseReported({ session_id: sessionId }),
  ];
}

/** Makes the row of an event. */
export function rowOfEvent(event: NewEvent): NewEventRow {
  return {
    id: event.id,
    type: event.type,
    at: event.at,
    user_id: event.userId,
    stream_id: event.streamId ?? null,
    session_id: event.sessionId ?? null,
    payload: JSON.stringify(event.payload),
  };
}

/** Makes the row of an event about a stream, without the user. */
export function rowOfStreamEvent(event: NewStreamEvent): Omit<NewEventRow, 'user_id'> {
  const { user_id: _, ...row } = rowOfEvent({ ...event, userId: '' as UserId } as NewEvent);
  return row;
}

/** Makes the event from a row that has been numbered. */
export function eventOfRow(row: Omit<EventsTable, 'position'>): ServiceEvent {
  return {
    id: row.id,
    type: row.type,
    at: row.at,
    sequence: row.sequence,
    userId: row.user_id,
    streamId: row.stream_id ?? undefined,
    sessionId: row.session_id ?? undefined,
    payload: JSON.parse(row.payload),
  } as ServiceEvent;
}

/** Marks a query as one that adds events. */
function adding<Args, Row>(query: PreparedQuery<Args, Row>): PreparedQuery<Args, Row> {
  return (args) => ({ ...query(args), addsEvents: true });
}
