import assert from 'node:assert/strict';
import { test } from 'node:test';

// The player is JavaScript, so that browsers load it as it is.
const { beginningOf, positionToBegin } = (await import(new URL('recording-position.js', import.meta.url).href)) as {
  beginningOf: (playlist: string, source: string) => number;
  positionToBegin: (playlist: string, dateMs: number) => number;
};

const MINUTE = '2026-11-26T12:00';

/** The text of a playlist whose segments of 2 s each begin at a second of a minute. */
function playlistFrom(second: number, { segments, ended = true }: { segments: number; ended?: boolean }): string {
  return [
    '#EXTM3U',
    '#EXT-X-TARGETDURATION:2',
    `#EXT-X-PROGRAM-DATE-TIME:${MINUTE}:${String(second).padStart(2, '0')}.000Z`,
    ...Array.from({ length: segments }, (_, index) => `#EXTINF:2.00000,\n${index}.m4s`),
    ...(ended ? ['#EXT-X-ENDLIST'] : []),
  ].join('\n');
}

const at = (second: number) => Date.parse(`${MINUTE}:${String(second).padStart(2, '0')}.000Z`);

test('a variant that begins 8 s later than the source begins at position 8 of the source', () => {
  const source = playlistFrom(0, { segments: 15 });
  assert.equal(beginningOf(playlistFrom(8, { segments: 11 }), source), 8);
  assert.equal(beginningOf(source, source), 0);
});

test('a variant begins with the source when one of the two playlists could not be loaded', () => {
  const playlist = playlistFrom(8, { segments: 11 });
  assert.equal(beginningOf('', playlistFrom(0, { segments: 15 })), 0);
  assert.equal(beginningOf('{"errors":["busy"]}', playlistFrom(0, { segments: 15 })), 0);
  assert.equal(beginningOf(playlist, ''), 0);
});

test('a replay begins at the named time, and within the recording for a time outside of it', () => {
  const playlist = playlistFrom(10, { segments: 10 });
  assert.deepEqual(
    [0, 10, 13, 29, 59].map((second) => positionToBegin(playlist, at(second))),
    [0, 0, 3, 19, 20],
  );
});

test('a replay of a running recording begins no closer to its end than players hold back', () => {
  const playlist = playlistFrom(10, { segments: 10, ended: false });
  const latest = positionToBegin(playlist, at(59));
  assert.ok(latest > 10 && latest < 20, String(latest));
  assert.equal(positionToBegin(playlist, at(13)), 3);
});
