import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type PlaylistEdge, readiness } from './blocking-reload.ts';

/** Segment 7 is complete with six parts, segment 8 has two. */
const EDGE: PlaylistEdge = { segments: 5, lastMsn: 7, lastParts: 6, growingParts: 2, partTargetS: 0.334 };

type Expectation = readonly [what: string, msn: number | undefined, part: number | undefined, type: string];

describe('a playlist request is answered', () => {
  const table: readonly Expectation[] = [
    ['at once without directives', undefined, undefined, 'now'],
    ['at once for a segment that is listed', 7, undefined, 'now'],
    ['at once for a segment that has left the list', 0, undefined, 'now'],
    ['at once for a part of a segment that has left the list', 0, 3, 'now'],
    ['when a growing segment is complete', 8, undefined, 'wait'],
    ['when the segment after next is complete', 9, undefined, 'wait'],
    ['with a refusal three segments ahead', 10, undefined, 'bad_request'],
    ['with a refusal far ahead', 4_000_000_000, 0, 'bad_request'],
    ['at once for a part that is listed', 8, 1, 'now'],
    ['when the next part exists', 8, 2, 'wait'],
    ['when the first part of the next segment exists', 9, 0, 'wait'],
    ['like one for the next segment when the part is beyond the end of a finished segment', 7, 6, 'now'],
    ['when the ninth part ahead exists, because nine parts last three seconds', 8, 10, 'wait'],
    ['with a refusal ten parts ahead', 8, 11, 'bad_request'],
    ['with a refusal ten parts into a segment that has not begun', 9, 9, 'bad_request'],
    ['with a refusal for a part far beyond the end of a finished segment', 7, 60, 'bad_request'],
    ['with a refusal for a part without a segment', undefined, 0, 'bad_request'],
  ];
  for (const [what, msn, part, type] of table) {
    test(what, () => {
      const directives = { ...(msn === undefined ? {} : { msn }), ...(part === undefined ? {} : { part }) };
      assert.equal(readiness(directives, EDGE).type, type);
    });
  }

  test('without directives after two segments are complete, and with those of the first part as soon as it exists', () => {
    const starting: PlaylistEdge = {
      segments: 0,
      lastMsn: 1_000_000,
      lastParts: 0,
      growingParts: 1,
      partTargetS: 0.334,
    };
    for (const segments of [0, 1]) assert.equal(readiness({}, { ...starting, segments }).type, 'wait');
    assert.equal(readiness({}, { ...starting, segments: 2 }).type, 'now');
    assert.equal(
      readiness({ msn: 0 }, starting).type,
      'wait',
      'a request that names a segment waits for a complete one',
    );
    assert.equal(readiness({ msn: 0 }, { ...starting, segments: 1 }).type, 'now');
    for (const lastMsn of [-1, 1_000_000])
      assert.equal(readiness({ msn: 0, part: 0 }, { ...starting, lastMsn }).type, 'now');
    assert.equal(readiness({ msn: 0, part: 0 }, { ...starting, lastMsn: -1, growingParts: 0 }).type, 'wait');
  });

  test('with a validity that lets caches keep the answer only when the directives name one of the newest positions', () => {
    for (const [msn, part, validity] of [
      [undefined, undefined, 'current'],
      [8, 1, 'final'],
      [8, 0, 'final'],
      [7, undefined, 'final'],
      [7, 5, 'final'],
      [7, 6, 'final'],
      [6, undefined, 'unshared'],
      [6, 99_999, 'unshared'],
      [0, 0, 'unshared'],
    ] as const) {
      const directives = { ...(msn === undefined ? {} : { msn }), ...(part === undefined ? {} : { part }) };
      assert.deepEqual(readiness(directives, EDGE), { type: 'now', validity }, JSON.stringify(directives));
    }
  });

  test('when the next segment begins, for a part beyond the end of the last one', () => {
    assert.equal(readiness({ msn: 7, part: 6 }, { ...EDGE, growingParts: 0 }).type, 'wait');
  });

  test('up to three parts ahead when parts are longer than a second', () => {
    const edge = { ...EDGE, partTargetS: 1.5 };
    assert.deepEqual(
      [4, 5].map((part) => readiness({ msn: 8, part }, edge).type),
      ['wait', 'bad_request'],
    );
  });
});
