import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceEvent } from '#domain/events.ts';
import { ms } from '#lib/units.ts';
import { requestBody } from './request-body.ts';

const URLS = { recordingUrl: '/recordings/p/index.m3u8', mp4Url: '/recordings/p/source.mp4' };
const EVENT = {
  id: 'e',
  type: 'recording.ready',
  at: ms(1),
  sequence: 2,
  userId: 'u',
  streamId: 's',
  sessionId: 'x',
  payload: { assetId: 'x', session: { id: 'x', record: true, ...URLS }, ...URLS },
} as unknown as ServiceEvent;

const payloadFor = (publicUrl: string | undefined) =>
  JSON.parse(requestBody(EVENT, 'w' as never, undefined, ms(3), publicUrl)).payload;

test('a request body has whole URLs of recordings when the origin is known, and the rest of the payload as it is', () => {
  const whole = {
    recordingUrl: 'https://live.example.com/recordings/p/index.m3u8',
    mp4Url: 'https://live.example.com/recordings/p/source.mp4',
  };
  assert.deepEqual(payloadFor('https://live.example.com'), {
    assetId: 'x',
    session: { id: 'x', record: true, ...whole },
    ...whole,
  });
  assert.deepEqual(payloadFor(undefined), EVENT.payload);
});
