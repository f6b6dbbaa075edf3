import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { newPlaybackId, newStreamId } from './ids.ts';
import { readingsOf } from './mistaken-key.ts';
import { newApiKeySecret, newStreamKey } from './secret.ts';

/** The readings with their values. */
const revealed = (text: string) =>
  readingsOf(text).map((reading) => {
    switch (reading.type) {
      case 'stream_key':
        return reading.streamKey.reveal();
      case 'api_key':
        return reading.apiKey.reveal();
      case 'id':
        return reading.id;
      default:
        return reading.playbackId;
    }
  });

test('a stream key is found in what people paste with it', () => {
  const key = newStreamKey().reveal();
  for (const text of [
    key,
    ` ${key}\t`,
    `"${key}"`,
    `'${key}'`,
    `${key}/`,
    `/${key}`,
    `${key}/extra`,
    `${key}?quality=high`,
    `rtmp://live.example.com/live/${key}`,
    `rtmp://live.example.com:1935/live/${key}?x=1`,
    key.toUpperCase(),
    `${key}\u00a0`,
    `stream key: ${key}`,
  ]) {
    assert.deepEqual(revealed(text), [key], text);
  }
});

test('an id, a playback id and an API key are told apart', () => {
  const values = [newStreamId(), newPlaybackId(), newApiKeySecret().reveal()];
  const types = values.flatMap((value) => readingsOf(`https://x.example/${value}/index.m3u8`)).map(({ type }) => type);
  assert.deepEqual(types, ['id', 'playback_id', 'api_key']);
  for (const value of values) assert.deepEqual(revealed(value), [value]);
});

test('a text has few readings, whatever it is, and none that it does not contain', () => {
  const around = fc.string({ unit: fc.constantFrom(...Array.from(' "\'/?&=:;,.\n\t<>{}|')) });
  fc.assert(
    fc.property(around, around, (before, after) => {
      const key = newStreamKey().reveal();
      assert.deepEqual(revealed(before + key + after), [key]);
    }),
  );
  fc.assert(
    fc.property(fc.string({ maxLength: 2000 }), (text) => {
      const readings = revealed(text);
      assert.ok(readings.length <= 4);
      for (const reading of readings) assert.ok(text.toLowerCase().includes(reading.toLowerCase()));
    }),
  );
  assert.equal(readingsOf(`${newStreamId()} `.repeat(1000)).length, 4);
});
