import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adviceFor } from './advice.ts';
import { encoderKind, encoderTitle } from './encoder-name.ts';
import { streamState } from './stream-state.ts';

test('encoders are recognised by the names they give themselves', () => {
  assert.deepEqual(
    [
      'obs-output module (libobs version 31.0.2)',
      'Lavf61.7.100',
      'FMLE/3.0 (compatible; Lavf62.19.101)',
      'GStreamer 1.24',
      'FMLE/3.0',
      undefined,
    ].map(encoderKind),
    ['obs', 'ffmpeg', 'ffmpeg', 'gstreamer', 'other', 'other'],
  );
  assert.equal(encoderTitle('obs-output module (libobs version 31.0.2)'), 'OBS 31.0.2');
  assert.equal(encoderTitle('Lavf61.7.100'), 'ffmpeg');
  assert.equal(encoderTitle('x'.repeat(500)).length, 61);
  assert.equal(encoderTitle(undefined), 'An encoder');
});

test('advice is in the words of the encoder, and there is none where nothing is to be done', () => {
  assert.match(
    adviceFor('keyframe_interval_too_long', 'obs-output module (libobs version 31.0.2)')!,
    /^OBS: Settings → Output/,
  );
  assert.match(adviceFor('keyframe_interval_too_long', 'a phone')!, /keyframe interval/);
  assert.equal(adviceFor('transcode_rendition_restored', undefined), undefined);
});

test('the state of a stream is what matters most about it', () => {
  const stream = { suspended: false, isActive: false, isHealthy: null, lastSeen: 0 };
  assert.equal(streamState(stream).word, 'Never live');
  assert.equal(streamState({ ...stream, lastSeen: 5 }).word, 'Offline');
  assert.equal(streamState({ ...stream, isActive: true, isHealthy: true }).word, 'Live');
  assert.equal(streamState({ ...stream, isActive: true, isHealthy: false }).word, 'Live, with issues');
  assert.equal(streamState({ ...stream, isActive: true, suspended: true }).word, 'Suspended');
});
