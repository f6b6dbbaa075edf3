import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ms } from '#lib/units.ts';
import type { GapEvent, GapReason } from '#media/session-event.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { asEvent, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { GapLog } from './gap-log.ts';

const gap = (fromS: number, untilS: number, why: GapReason): GapEvent => ({ type: 'gap', fromS, untilS, why });
const packet = asEvent(packetAt(VIDEO_TRACK, 0, { keyframe: true }));

function setUp() {
  const lines: object[] = [];
  const time = { monotonic: 0 };
  const clock = { now: () => ms(time.monotonic), monotonic: () => ms(time.monotonic) };
  const log = new GapLog({ clock, logger: { ...silentLogger, info: (fields) => void lines.push(fields) } });
  return { log, lines, time };
}

test('a gap that was reported in pieces is one line once media follows, with its rendition and reason', () => {
  const { log, lines } = setUp();
  log.write('source', packet);
  log.write('source', gap(4, 4.3, 'source_interrupted'));
  log.write('source', gap(4.3, 6, 'source_interrupted'));
  log.write('720p', gap(4, 5, 'lost'));
  log.write('source', { type: 'track', track: VIDEO_TRACK });
  assert.deepEqual(lines, []);
  log.write('source', packet);
  log.write('source', packet);
  log.write('720p', { type: 'end' });
  assert.deepEqual(lines, [
    { rendition: 'source', why: 'source_interrupted', seconds: 2, count: 1 },
    { rendition: '720p', why: 'lost', seconds: 1, count: 1 },
  ]);
});

test('a gap whose reason changes is logged as two gaps', () => {
  const { log, lines, time } = setUp();
  log.write('720p', gap(4, 5, 'lost'));
  time.monotonic = 1000;
  log.write('720p', gap(5, 7, 'shed'));
  time.monotonic = 2000;
  log.write('720p', packet);
  assert.deepEqual(lines, [
    { rendition: '720p', why: 'lost', seconds: 1, count: 1 },
    { rendition: '720p', why: 'shed', seconds: 2, count: 1 },
  ]);
});

test('a rendition with a gap after every frame makes one line a second', () => {
  const { log, lines, time } = setUp();
  for (let frame = 0; frame < 100; frame += 1) {
    time.monotonic = frame * 20;
    log.write('source', gap(frame / 50, (frame + 1) / 50, 'lost'));
    log.write('source', packet);
  }
  assert.deepEqual(
    lines.map((line) => (line as { count: number }).count),
    [1, 50],
  );
});
