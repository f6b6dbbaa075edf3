import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameHold } from './frame-hold.ts';

const RATE = 30;
const hundredths = (times: readonly number[]) => times.map((time) => Math.round(time * 100));

/** A frame hold that has seen three frames at the source's frame rate, the last one at `untilS`. */
function holdAt(untilS: number, framesPerSecond = RATE): FrameHold {
  const hold = new FrameHold(untilS - 2 / framesPerSecond, RATE);
  for (const before of [2, 1, 0]) hold.sawFrame(untilS - before / framesPerSecond, untilS - before / framesPerSecond);
  return hold;
}

test('no frame is repeated while frames come with the audio, at any usual rate', () => {
  for (const rate of [60, 30, 10, 4, 1, 0.5]) {
    const hold = new FrameHold(5, RATE);
    for (let at = 5; at < 15; at += 0.02) {
      const isNew = Math.floor(at * rate) > Math.floor((at - 0.02) * rate);
      assert.deepEqual(isNew ? hold.sawFrame(at, at) : [], []);
      assert.deepEqual(hold.passed(at), [], `${rate} a second`);
    }
  }
});

test('the last frame is repeated while only audio comes, and until the next frame', () => {
  const hold = holdAt(1);
  hold.sawFrame(1.03, 1.1);
  assert.deepEqual(hold.passed(1.4), []);
  assert.deepEqual(hundredths(hold.passed(1.6)), [113, 117]);
  assert.deepEqual(hundredths(hold.passed(1.65)), [120, 123]);
  assert.deepEqual(hundredths(hold.sawFrame(1.35, 1.4)), [127, 130]);
  assert.deepEqual(hold.passed(1.7), []);
});

test('the last frame of a slow source is repeated at the rate of that source, once a frame is late', () => {
  const hold = holdAt(2, 1);
  assert.deepEqual(hold.passed(3.8), []);
  assert.deepEqual(hold.passed(3.95), [3]);
  assert.deepEqual(hold.passed(5.5), [4, 5]);
  assert.deepEqual(hold.sawFrame(6.1, 6.1), []);
  assert.deepEqual(hold.passed(7.9), []);
  assert.deepEqual(hundredths(hold.passed(8.6)), [710, 810]);
  assert.deepEqual(hundredths(hold.sawFrame(9.7, 9.7)), [910]);
});

test('a source that begins with a pause gets time to show its frame rate', () => {
  const hold = new FrameHold(5, RATE);
  hold.sawFrame(5, 5);
  assert.deepEqual(hold.passed(7.3), []);
  assert.deepEqual(hundredths(hold.passed(7.5)).slice(0, 3), [503, 507, 510]);
});

test('frames that always come later than the audio are given that much more time', () => {
  const hold = new FrameHold(0, RATE);
  for (let at = 0; at < 5; at += 0.1) {
    const times = hold.passed(at + 0.9);
    if (at > 0) assert.deepEqual(times, [], 'the delay is known from the first frame');
    hold.sawFrame(at, at);
  }
});

test('however late frames are, the last one is repeated without a hole, and never at or after the time of the next frame', () => {
  const step = fc.record({ apartMs: fc.integer({ min: 10, max: 4000 }), lateMs: fc.integer({ min: 0, max: 390 }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 50 }), (steps) => {
      const hold = holdAt(0);
      let shown = 0;
      let audioMs = 0;
      let atMs = 0;
      const take = (times: readonly number[]) => {
        for (const time of times) {
          assert.ok(time > shown && time - shown < 0.034);
          shown = time;
        }
      };
      for (const { apartMs, lateMs } of steps) {
        atMs += apartMs;
        for (; audioMs < atMs + lateMs; audioMs += 21) take(hold.passed(audioMs / 1000));
        take(hold.sawFrame(atMs / 1000, atMs / 1000));
        assert.ok(atMs / 1000 > shown, 'a repeat is not before this frame');
        assert.ok(atMs / 1000 - shown < 0.9, 'the previous frame was shown for too long');
        shown = atMs / 1000;
      }
    }),
  );
});

test('a held frame is repeated for at most fifteen seconds at once, however far time jumps', () => {
  const hold = holdAt(1);
  assert.ok(hold.passed(1e9).length <= 15 * RATE);
  assert.ok(hold.sawFrame(2e9, 2e9).length <= 15 * RATE);
});
