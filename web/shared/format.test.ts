import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, bitrate, bytes, clock, codecName, count, date, duration } from './format.ts';

test('bitrates and sizes have two or three digits and a unit', () => {
  assert.deepEqual([0, 800_000, 999_600, 2_450_000, 12_345_678].map(bitrate), [
    '0 kbit/s',
    '800 kbit/s',
    '1 Mbit/s',
    '2.5 Mbit/s',
    '12 Mbit/s',
  ]);
  assert.equal(bitrate(undefined), '–');
  assert.deepEqual([0, 999, 1500, 2_308_500_000, 999_999_999].map(bytes), ['0 B', '999 B', '1.5 kB', '2.3 GB', '1 GB']);
});

test('lengths of time have at most two units', () => {
  assert.deepEqual([0, 59.4, 60, 200, 3600, 7505, 90_000].map(duration), [
    '0 s',
    '59 s',
    '1 min',
    '3 min 20 s',
    '1 h',
    '2 h 5 min',
    '1 d 1 h',
  ]);
  assert.deepEqual([7, 754, 3723].map(clock), ['0:07', '12:34', '1:02:03']);
});

test('times say how long ago, then the date', () => {
  const now = 1_795_175_107_399;
  assert.equal(ago(0, now), 'never');
  assert.equal(ago(now + 3000, now), 'just now', 'clocks may differ a little');
  assert.equal(ago(now - 12_000, now), '12 s ago');
  assert.equal(ago(now - 3 * 60_000, now), '3 min ago');
  assert.equal(ago(now - 5 * 3_600_000, now), '5 h ago');
  assert.equal(ago(now - 3 * 86_400_000, now), '3 d ago');
  assert.match(ago(now - 30 * 86_400_000, now), /^\d+ \w+ \d{4}$/);
});

test('codecs have the names that people know', () => {
  assert.deepEqual(['avc1.640028', 'hvc1.1.6.L120', 'av01.0.04M.08', 'mp4a.40.2', 'opus', 'vp09'].map(codecName), [
    'H.264',
    'HEVC',
    'AV1',
    'AAC',
    'Opus',
    'vp09',
  ]);
  assert.deepEqual([count(1, 'stream'), count(1200, 'stream')], ['1 stream', '1,200 streams']);
});

test('a day can be one of another time zone', () => {
  const midnight = Date.UTC(2026, 10, 25);
  assert.equal(date(midnight, 'UTC'), '25 Nov 2026');
  assert.equal(date(midnight, 'America/New_York'), '24 Nov 2026');
});
