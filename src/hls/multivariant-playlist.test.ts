import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ListedRendition, renderMultivariantPlaylist } from './multivariant-playlist.ts';

const audio: ListedRendition = {
  kind: 'audio',
  uri: 'path/audio.m3u8',
  codecString: 'mp4a.40.2',
  bitrates: { peakBps: 140_000, averageBps: 130_000 },
  name: 'audio',
  channels: 2,
};
const video: ListedRendition = {
  kind: 'video',
  uri: 'path/source.m3u8',
  codecString: 'avc1.64001f',
  bitrates: { peakBps: 3_500_000, averageBps: 3_000_000 },
  width: 1280,
  height: 720,
  framesPerSecond: 30_000 / 1001,
  videoRange: undefined,
};
const small: ListedRendition = { ...video, uri: 'path/360p.m3u8', width: 640, height: 360 };

describe('a multivariant playlist', () => {
  test('lists video with the sum of its bitrate and that of the audio', () => {
    const lines = renderMultivariantPlaylist([video, audio, small]).split('\n');
    assert.equal(lines.filter((line) => line.startsWith('#EXT-X-MEDIA:')).length, 1);
    assert.equal(
      lines[lines.indexOf('path/source.m3u8') - 1],
      '#EXT-X-STREAM-INF:BANDWIDTH=3640000,AVERAGE-BANDWIDTH=3130000,CODECS="avc1.64001f,mp4a.40.2",' +
        'RESOLUTION=1280x720,FRAME-RATE=29.970,AUDIO="audio"',
    );
    assert.ok(lines.indexOf('path/360p.m3u8') > lines.indexOf('path/source.m3u8'));
  });

  test('has the video range where it is known', () => {
    assert.doesNotMatch(renderMultivariantPlaylist([video]), /VIDEO-RANGE/);
    assert.match(renderMultivariantPlaylist([{ ...video, videoRange: 'HLG' }]), /,VIDEO-RANGE=HLG$/m);
  });

  test('has frame rates only when the rate of every variant is known', () => {
    assert.doesNotMatch(renderMultivariantPlaylist([video, { ...small, framesPerSecond: undefined }]), /FRAME-RATE/);
    assert.equal(renderMultivariantPlaylist([video, small]).match(/FRAME-RATE=29\.970/g)?.length, 2);
  });

  test('has no audio group when there is only video', () => {
    assert.doesNotMatch(renderMultivariantPlaylist([video]), /AUDIO|mp4a/);
  });

  test('lists the audio playlist as the only variant when there is only audio', () => {
    assert.equal(
      renderMultivariantPlaylist([audio]),
      '#EXTM3U\n#EXT-X-VERSION:9\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=140000,AVERAGE-BANDWIDTH=130000,CODECS="mp4a.40.2"\npath/audio.m3u8\n',
    );
  });
});
