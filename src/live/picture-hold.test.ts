import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PictureHold } from './picture-hold.ts';

const STEP_S = 1 / 30;
const hundredths = (times: readonly number[]) => times.map((time) => Math.round(time * 100));

test('nothing is shown again while pictures come with the sound, at any usual rate', () => {
  for (const rate of [60, 30, 10, 4, 1, 0.5]) {
    const hold = new PictureHold(5, 1 / Math.min(30, rate));
    for (let at = 5; at < 15; at += 0.02) {
      const isNew = Math.floor(at * rate) > Math.floor((at - 0.02) * rate);
      assert.deepEqual(isNew ? hold.sawPicture(at, at) : [], []);
      assert.deepEqual(hold.passed(at), [], `${rate} a second`);
    }
  }
});

test('the last picture is shown again while the sound goes on alone, and until the next one', () => {
  const hold = new PictureHold(0, STEP_S);
  hold.sawPicture(1, 1.1);
  assert.deepEqual(hold.passed(1.4), []);
  assert.deepEqual(hundredths(hold.passed(1.6)), [113, 117]);
  assert.deepEqual(hundredths(hold.passed(1.65)), [120, 123]);
  assert.deepEqual(hundredths(hold.sawPicture(1.35, 1.4)), [127, 130]);
  assert.deepEqual(hold.passed(1.7), []);
});

test('of a slow source the last picture is shown again as often as it sends them, once one is late', () => {
  const hold = new PictureHold(0, 1);
  hold.sawPicture(2, 2);
  assert.deepEqual(hold.passed(3.3), []);
  assert.deepEqual(hold.passed(3.5), [3]);
  assert.deepEqual(hold.passed(5.5), [4, 5]);
  assert.deepEqual(hold.sawPicture(6.1, 6.1), []);
  assert.deepEqual(hold.passed(7.4), []);
  assert.deepEqual(hundredths(hold.passed(8.6)), [710, 810]);
  assert.deepEqual(hundredths(hold.sawPicture(9.7, 9.7)), [910]);
});

test('pictures that always come later than the sound are waited for as long', () => {
  const hold = new PictureHold(0, STEP_S);
  for (let at = 0; at < 5; at += 0.1) {
    const times = hold.passed(at + 0.9);
    if (at > 0) assert.deepEqual(times, [], 'it is known from the first one');
    hold.sawPicture(at, at);
  }
});

test('no time is given out twice or before a picture still to come, and behind none is there a hole, however late they are', () => {
  const step = fc.record({ apartMs: fc.integer({ min: 10, max: 4000 }), lateMs: fc.integer({ min: 0, max: 390 }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 50 }), (steps) => {
      const hold = new PictureHold(0, STEP_S);
      let shown = 0;
      let soundMs = 0;
      let atMs = 0;
      const take = (times: readonly number[]) => {
        for (const time of times) {
          assert.ok(time > shown && time - shown < 0.034);
          shown = time;
        }
      };
      hold.sawPicture(0, 0);
      for (const { apartMs, lateMs } of steps) {
        atMs += apartMs;
        for (; soundMs < atMs + lateMs; soundMs += 21) take(hold.passed(soundMs / 1000));
        take(hold.sawPicture(atMs / 1000, atMs / 1000));
        assert.ok(atMs / 1000 > shown, 'the picture comes too late');
        assert.ok(atMs / 1000 - shown < 0.9, 'the picture before stood too long');
        shown = atMs / 1000;
      }
    }),
  );
});
