import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { EventLines } from './event-lines.ts';

const TEXT =
  'id: 6\nretry: 1000\n\nid: 7\nevent: stream.started\ndata: {"a":1}\n\n: beat\n\nid: 8\nevent: stream.idle\ndata: one\ndata: two\n\n';
const EVENTS = [
  { type: 'stream.started', data: '{"a":1}' },
  { type: 'stream.idle', data: 'one\ntwo' },
];

test('events are read, comments and settings are not', () => {
  assert.deepEqual(new EventLines().take(TEXT), EVENTS);
});

test('the id to continue after is known before the first event', () => {
  const lines = new EventLines();
  assert.equal(lines.lastId, undefined);
  lines.take('id: 6\nretry: 1000\n\n');
  assert.equal(lines.lastId, '6');
  lines.take(TEXT);
  assert.equal(lines.lastId, '8');
});

test('events are the same however the text is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(TEXT.length), { maxLength: 8 }), (cuts) => {
      const lines = new EventLines();
      const bounds = [0, ...cuts.toSorted((a, b) => a - b), TEXT.length];
      const pieces = bounds.slice(1).map((end, index) => TEXT.slice(bounds[index], end));
      assert.deepEqual(
        pieces.flatMap((piece) => lines.take(piece)),
        EVENTS,
      );
    }),
  );
});

test('an event that does not end is refused', () => {
  const lines = new EventLines();
  assert.throws(() => lines.take('x'.repeat(1_000_001)));
});
