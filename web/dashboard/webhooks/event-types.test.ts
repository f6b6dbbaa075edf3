import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS } from '#domain/events.ts';
import { EVENT_TYPES, USUAL_EVENTS } from './event-types.ts';

test('every event of the service can be chosen, and no other', () => {
  assert.deepEqual(Object.keys(EVENT_TYPES).toSorted(), Object.keys(EVENTS).toSorted());
  for (const type of USUAL_EVENTS) assert.ok(type in EVENTS);
});
