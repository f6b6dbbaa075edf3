import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bitrate } from '../../shared/format.ts';
import { columnsOf, measures, plotSentence, uplinkWords } from './series.ts';

const sample = (time: number, change: object = {}) => ({
  time,
  duration: 5,
  bitrate: { min: 1_000_000, mean: 2_000_000, max: 3_000_000 },
  fps: 30,
  longestGap: 0.04,
  keyframeInterval: 2,
  speed: 1,
  drift: 0,
  viewers: 3,
  renditions: [],
  ...change,
});
const [drift, rate, , keyframes, lag] = measures(bitrate);

test('a time without media is a gap in the plot, not a zero', () => {
  const columns = columnsOf({ step: 5, samples: [sample(5000), sample(10_000), sample(60_000)] }, rate!);
  assert.deepEqual(columns.times, [5, 10, 15, 60]);
  assert.deepEqual(columns.values, [2_000_000, 2_000_000, null, 2_000_000]);
  assert.deepEqual(columns.low, [1_000_000, 1_000_000, null, 1_000_000]);
});

test('a plot is said in a sentence, with what is outside of the good range', () => {
  const columns = columnsOf(
    { step: 5, samples: [sample(5000), sample(10_000, { keyframeInterval: 9.6 })] },
    keyframes!,
  );
  assert.equal(
    plotSentence(keyframes!, columns),
    'Time between keyframes: 2.0 s to 9.6 s, now 9.6 s. Outside of the good range in 1 of 2 samples.',
  );
  assert.equal(
    plotSentence(lag!, columnsOf({ step: 5, samples: [sample(5000)] }, lag!)),
    'Transcoder behind the source: nothing was measured.',
  );
  assert.match(
    plotSentence(drift!, columnsOf({ step: 5, samples: [sample(5000)] }, drift!)),
    /Always in the good range/,
  );
});

test('a slow uplink is the headline, with what to do', () => {
  const slow = [1, 2, 3, 4].map((n) => sample(n * 5000, { speed: 0.9, drift: n }));
  assert.match(uplinkWords(slow)!.text, /carries 0.90 of real time: another 6 s behind every minute/);
  assert.equal(uplinkWords([1, 2, 3].map((n) => sample(n * 5000)))!.isBad, false);
  const jitter = [1, 2, 3, 4].map((n) => sample(n * 5000, { speed: 0.9, drift: 0.3 }));
  assert.equal(uplinkWords(jitter)!.isBad, false);
  assert.equal(uplinkWords([sample(5000)]), undefined);
});
