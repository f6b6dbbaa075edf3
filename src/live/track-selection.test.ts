import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Track, type TrackId, trackId } from '#media/track.ts';
import { AUDIO_TRACK, OPUS_TRACK, VIDEO_TRACK } from '#test/support/tracks.ts';
import { codecsOf, leaderOf, selectTracks } from './track-selection.ts';

test('the first of several tracks of a kind is used, and the others are left out', () => {
  const hd = { ...VIDEO_TRACK, width: 1920, height: 1080 };
  const selected = selectTracks(
    new Map<TrackId, Track>([
      [trackId('audio-7'), OPUS_TRACK],
      [trackId('video-1'), VIDEO_TRACK],
      [trackId('video-2'), hd],
      [trackId('audio-8'), AUDIO_TRACK],
    ]),
  );
  assert.deepEqual(selected, {
    video: { id: 'video-1', track: VIDEO_TRACK },
    audio: { id: 'audio-7', track: OPUS_TRACK },
  });
  assert.equal(leaderOf(selected)?.id, 'video-1');
  assert.equal(codecsOf(selected), 'Opus,avc1.64001f');
});

test('audio leads where there is no video, and without tracks the codecs are empty', () => {
  assert.equal(leaderOf(selectTracks(new Map([[trackId('a'), AUDIO_TRACK]])))?.id, 'a');
  assert.equal(codecsOf(selectTracks(new Map())), '');
});
