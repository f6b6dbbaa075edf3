import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ms } from '#lib/units.ts';
import { someHealth } from '#test/support/sample-records.ts';
import { healthOfText, type SessionHealth, textOfHealth } from './health.ts';

const UNKNOWN: SessionHealth = {
  encoder: undefined,
  source: { video: undefined, audio: undefined },
  ladder: { renditions: [], leftOut: [], transcoder: undefined },
  hasThumbnail: false,
  warnings: [],
};

test('health is read as it was stored', () => {
  const measured = { actual: 9.6, expected: 2, unit: 's' };
  const warnings = someHealth().warnings.map((warning) => ({ ...warning, measured }));
  assert.ok(warnings.length > 0);
  for (const health of [someHealth(), { ...someHealth(), warnings }, UNKNOWN])
    assert.deepEqual(healthOfText(textOfHealth(health)), health);
});

test('health that was stored before texts had a version is read', () => {
  const text =
    '{"encoder":"FMLE/3.0","source":{"video":{"codec":"avc1.64001f","width":640,"height":360,"rates":{"bitrateBps":1000000,"framesPerSecond":30},"keyframeIntervalS":2}},"ladder":{"renditions":[],"leftOut":[]},"hasThumbnail":true,"warnings":[]}';
  assert.deepEqual(healthOfText(text), {
    ...UNKNOWN,
    encoder: 'FMLE/3.0',
    source: {
      video: {
        codec: 'avc1.64001f',
        width: 640,
        height: 360,
        rates: { bitrateBps: 1_000_000, framesPerSecond: 30 },
        keyframeIntervalS: 2,
      },
      audio: undefined,
    },
    hasThumbnail: true,
  });
});

test('fields that a text lacks, or that cannot be read, are unknown, and the rest is read', () => {
  for (const text of ['{}', '{"source":null,"ladder":7,"warnings":{}}', '{"version":1,"later":true}']) {
    assert.deepEqual(healthOfText(text), UNKNOWN, text);
  }
  const { warnings, ladder } = someHealth();
  const stored = {
    ...someHealth(),
    ladder: { ...ladder, renditions: [{ id: 'x', state: 'paused' }, null, ...ladder.renditions], transcoder: {} },
    warnings: [{ code: 'of_a_later_version', severity: 'issue', message: 'so', since: 1 }, ...warnings],
    source: { video: { codec: 'av01' }, audio: null },
  };
  assert.deepEqual(healthOfText(JSON.stringify(stored)), {
    ...someHealth({ source: UNKNOWN.source }),
    ladder: { ...ladder, transcoder: { restarts: 0, lagMs: 0 } },
  });
  assert.equal(warnings[0]?.since, ms(7));
});

test('a text of a later version, and one that is not health, is read as undefined', () => {
  const later = JSON.stringify({ ...someHealth(), version: 2 });
  for (const text of [later, '', 'null', '7', '"x"', '{"version":"1"}']) {
    assert.equal(healthOfText(text), undefined, text);
  }
});
