import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { FrameGate, type FrameVerdict } from './frame-gate.ts';

const EVERY_CUT = { type: 'cuts' } as const;

/** The times of `count` frames at a rate, in whole milliseconds as in RTMP. */
const times = (rate: number, count: number) =>
  Array.from({ length: count }, (_, index) => Math.round((index * 1000) / rate));

function judge(gate: FrameGate, frames: readonly number[], cuts: readonly number[] = [0]): Map<number, FrameVerdict> {
  return new Map(frames.map((ms) => [ms, gate.judge(ms * 90, cuts.includes(ms))]));
}
const taken = (verdicts: Map<number, FrameVerdict>) =>
  [...verdicts].filter(([, verdict]) => verdict !== 'skip').map(([ms]) => ms);
const keyframes = (verdicts: Map<number, FrameVerdict>) =>
  [...verdicts].filter(([, verdict]) => verdict === 'keyframe').map(([ms]) => ms);

for (const [source, wanted, expected] of [
  [60, 30, 30],
  [50, 25, 25],
  [59.94, 29.97, 30],
  [50, 30, 30],
  [30, 25, 25],
  [60, 1, 1],
  [30, 60, 30],
] as const) {
  it(`takes about ${expected} of a second's frames when ${source} a second are limited to ${wanted}`, () => {
    const gate = new FrameGate({ frameRate: { num: wanted * 100, den: 100 }, keyframes: EVERY_CUT }, 30);
    const inTenSeconds = taken(judge(gate, times(source, Math.round(source * 10)))).length;
    assert.ok(Math.abs(inTenSeconds - expected * 10) <= 2, `${inTenSeconds} in ten seconds`);
  });
}

it('takes every frame of a segment after one within the limit, however uneven their times', () => {
  const gate = new FrameGate({ frameRate: { num: 30, den: 1 }, keyframes: EVERY_CUT }, 30);
  const even = times(30, 60);
  const uneven = times(30, 61).map((ms, index) => 2000 + ms - (index % 4 === 1 ? 30 : 0));
  const frames = [...even, ...uneven];
  assert.deepEqual(taken(judge(gate, frames, [0, 2000])), frames);
});

it('keeps to the limit after a segment within it, except for a few frames of a source that paused', () => {
  const gate = new FrameGate({ frameRate: { num: 30, den: 1 }, keyframes: EVERY_CUT }, 30);
  judge(gate, times(30, 60));
  const frames = times(60, 120).map((ms) => 2000 + ms);
  const inTwoSeconds = taken(judge(gate, frames, [2000])).length;
  assert.ok(inTwoSeconds <= 64, `${inTwoSeconds} in two seconds`);
});

it('does not count repeated frames for the frame rate of the source', () => {
  const gate = new FrameGate({ frameRate: { num: 30, den: 1 }, keyframes: EVERY_CUT }, 30);
  let count = 0;
  const offer = (ms: number, repeated: boolean) => {
    if (gate.judge(ms * 90, ms % 2000 === 0, repeated) !== 'skip') count += 1;
  };
  for (const startMs of [0, 4000, 8000, 12_000]) {
    for (const ms of times(30, 60)) offer(startMs + ms, true);
    for (const ms of times(60, 120)) offer(startMs + 2000 + ms, false);
  }
  assert.ok(count <= 16 * 30, `${count} in 16 seconds`);
});

for (const [behind, earlier] of [
  ['from the first segment on', []],
  ['after a segment with missing frames', times(10, 20)],
] as const) {
  it(`limits a source that declares less than it sends, ${behind}`, () => {
    const gate = new FrameGate({ frameRate: { num: 30, den: 1 }, keyframes: EVERY_CUT }, 30);
    judge(gate, earlier);
    gate.interrupt();
    const frames = times(60, 241).map((ms) => 10_000 + ms);
    const inFourSeconds = taken(judge(gate, frames, [10_000, 12_000, 14_000])).length;
    assert.ok(Math.abs(inFourSeconds - 120) <= 2, `${inFourSeconds} in four seconds`);
  });
}

it('takes every frame when the frame rate is not limited, however uneven their times', () => {
  const gate = new FrameGate({ frameRate: undefined, keyframes: EVERY_CUT }, 30);
  const frames = [0, 16, 50, 51, 300, 5000, 5001];
  assert.deepEqual(taken(judge(gate, frames)), frames);
});

it('always takes the first frame of a segment, as a keyframe', () => {
  const gate = new FrameGate({ frameRate: { num: 10, den: 1 }, keyframes: EVERY_CUT }, 30);
  const verdicts = judge(gate, times(50, 20), [0, 140]);
  assert.deepEqual(keyframes(verdicts), [0, 140]);
  assert.deepEqual(taken(verdicts), [0, 100, 140, 240, 340]);
});

it('adds keyframes at the requested interval, counted from the start of each segment', () => {
  const gate = new FrameGate({ frameRate: undefined, keyframes: { type: 'seconds', seconds: 1 } }, 30);
  assert.deepEqual(keyframes(judge(gate, times(29.97, 120), [0, 2503])), [0, 1001, 2002, 2503, 3504]);
});

it('makes every frame a keyframe when requested', () => {
  const gate = new FrameGate({ frameRate: undefined, keyframes: { type: 'every_frame' } }, 30);
  const frames = times(30, 10);
  assert.deepEqual(keyframes(judge(gate, frames)), frames);
});

it('begins at the start of a segment, also after an interruption', () => {
  const gate = new FrameGate({ frameRate: undefined, keyframes: EVERY_CUT }, 30);
  assert.deepEqual(taken(judge(gate, [0, 10, 20, 30], [20])), [20, 30]);
  gate.interrupt();
  assert.deepEqual(taken(judge(gate, [40, 50, 60], [50])), [50, 60]);
});

it('never takes a frame that is not later than the last, and never more than the limit within a segment', () => {
  const steps = fc.array(fc.integer({ min: -5, max: 100 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 60 }), (deltas, rate) => {
      const gate = new FrameGate({ frameRate: { num: rate, den: 1 }, keyframes: EVERY_CUT }, 30);
      let at = 0;
      let last = -1;
      let count = 0;
      for (const [index, delta] of deltas.entries()) {
        at += delta;
        if (gate.judge(at * 90, index === 0) === 'skip') continue;
        assert.ok(at > last || index === 0);
        last = at;
        count += 1;
      }
      const span = Math.max(0, ...deltas.map((_, index) => deltas.slice(1, index + 1).reduce((a, b) => a + b, 0)));
      assert.ok(count <= (span * rate) / 1000 + 3);
    }),
  );
});

it('makes the last frame of each part one that does not wait for later frames', () => {
  const gate = new FrameGate({ frameRate: undefined, keyframes: EVERY_CUT }, 30);
  const frames = times(30, 35);
  const verdicts = judge(gate, frames, [0, frames[13]!]);
  const anchors = frames.flatMap((ms, index) => (verdicts.get(ms) === 'anchor' ? [index] : []));
  // The second segment is expected to have 13 frames like the first, which makes two parts, of which the first has at least 9 frames.
  assert.deepEqual(anchors, [9, 21, 31]);
});
