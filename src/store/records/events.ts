/**
 * The store's events.
 */
import type { Engine } from '#store/engine.ts';
import { type EventListArgs, eventOfRow, eventQueries, rowOfStreamEvent } from '#store/queries/events.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';

/** Makes the store's events. */
export function eventRecords(runner: Runner, { compiler, now }: Engine): Store['events'] {
  const events = eventQueries(compiler, now);
  return {
    async add(added) {
      await runner.write(added.map((event) => events.addOfStream(rowOfStreamEvent(event))));
    },

    async number(limit) {
      const queries = [
        events.holdSequence({}),
        events.number({ limit }),
        events.deliver({}),
        events.wakeWebhooks({}),
        events.advance({}),
      ];
      const [, numbered = 0] = await runner.write(queries, [{ type: 'events_added' }]);
      return numbered;
    },

    areWaiting: async () => (await runner.cachedOne(events.waiting({}), () => true)) ?? false,
    onUnnumbered: (listener) => runner.onUnnumbered(listener),
    last: async () => (await runner.one(events.lastSequence({}), ({ last }) => last)) ?? 0,

    list(scope, { limit, direction, after, filter }) {
      const { type, streamId, from, to } = filter;
      const args: EventListArgs = {
        ...ofScope(scope),
        ...(streamId !== undefined && { stream_id: streamId }),
        ...(type !== undefined && { type }),
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
        ...(after !== undefined && { after }),
      };
      return runner.all(events.page({ direction }, { ...args, limit }), eventOfRow);
    },

    areAhead: (byMs) => runner.exists(events.isAhead({ by_ms: byMs })),

    async setBack(byMs, limit) {
      const changed = await runner.write([
        events.holdSequence({}),
        events.setBack({ limit }),
        events.setDeliveriesBack({ state: 'pending', limit }),
        events.setDeliveriesBack({ state: 'dead', limit }),
        events.setRetriesBack({ by_ms: byMs, limit }),
        events.setWebhooksBack({ by_ms: byMs }),
        events.sequenceSetBack({}),
      ]);
      return Math.max(...changed.slice(1, 5));
    },

    deleteOlder: (before, limit) => runner.changed(events.deleteOlder({ before, limit })),
  };
}
