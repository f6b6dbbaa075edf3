import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks } from '#lib/units.ts';
import { AUDIO_TRACK } from '#test/support/tracks.ts';
import { SilenceWatch } from './silence-watch.ts';

const packet = (hex: string) => {
  const times = { dts: ticks(0), pts: ticks(0) };
  return { kind: 'audio', ...times, keyframe: true, data: Buffer.from(hex, 'hex') } as const;
};
const silence = packet('211004608c1c');
const sound = packet('0118381096682a31a0851af8');

test('silence is measured from its beginning until the audio is no longer silent, or restarts', () => {
  const watch = new SilenceWatch();
  const feed = (from: number, until: number, what: typeof silence) => {
    for (let at = from; at < until; at += 0.02) watch.add(AUDIO_TRACK, what, at);
    return Math.round(watch.silentS);
  };
  assert.equal(feed(0, 5, sound), 0);
  assert.equal(feed(5, 30, silence), 25);
  assert.equal(feed(30, 32, sound), 0);
  assert.equal(feed(32, 40, silence), 8);
  watch.restart();
  assert.equal(watch.silentS, 0);
});

test('a short sound in each second is not silence, whenever in the second it comes', () => {
  const watch = new SilenceWatch();
  for (let frame = 0; frame < 3000; frame += 1) {
    watch.add(AUDIO_TRACK, frame % 50 === 25 ? sound : silence, frame / 50);
    assert.ok(watch.silentS < 1, `${watch.silentS} s of silence after ${frame / 50} s`);
  }
});

test('audio that viewers do not get counts as silent', () => {
  const watch = new SilenceWatch();
  for (let at = 0; at < 10; at += 1) watch.add(AUDIO_TRACK, sound, at, at < 5);
  assert.equal(watch.silentS, 4);
});

test('audio of other codecs is not inspected', () => {
  const watch = new SilenceWatch();
  for (let at = 0; at < 30; at += 1) watch.add({ ...AUDIO_TRACK, codec: 'opus' }, silence, at);
  assert.equal(watch.silentS, 0);
});
