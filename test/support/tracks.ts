/**
 * Tracks and packets for tests of rules that look only at times and keyframes.
 */
import { type Ticks, ticks } from '#lib/units.ts';
import type { Packet } from '#media/packet.ts';
import type { AudioTrack, Track, VideoTrack } from '#media/track.ts';

/** A 720p H.264 track; its configuration is not decodable. */
export const VIDEO_TRACK: VideoTrack = {
  kind: 'video',
  codec: 'h264',
  timescale: 90_000,
  config: new Uint8Array([1]),
  codecString: 'avc1.64001f',
  width: 1280,
  height: 720,
  codedWidth: 1280,
  codedHeight: 720,
  declaredFrameRate: undefined,
  videoRange: undefined,
};

/** A 48 kHz stereo AAC track. */
export const AUDIO_TRACK: AudioTrack = {
  kind: 'audio',
  codec: 'aac',
  timescale: 48_000,
  config: new Uint8Array([2]),
  codecString: 'mp4a.40.2',
  sampleRate: 48_000,
  channels: 2,
  samplesPerPacket: 1024,
};

/** A stereo Opus track; {@link packetAt} gives it packets of 10 ms. */
export const OPUS_TRACK: AudioTrack = {
  ...AUDIO_TRACK,
  codec: 'opus',
  config: new Uint8Array([3]),
  codecString: 'Opus',
  samplesPerPacket: 960,
};

/** A packet as RTMP gives it: whole milliseconds turned into ticks of the track. */
export function packetAt(
  track: Track,
  milliseconds: number,
  options: { keyframe?: boolean; delayMs?: number } = {},
): Packet {
  const toTicks = (value: number): Ticks => ticks(Math.round((value * track.timescale) / 1000));
  return {
    kind: track.kind,
    dts: toTicks(milliseconds),
    pts: toTicks(milliseconds + (options.delayMs ?? 0)),
    keyframe: options.keyframe ?? track.kind === 'audio',
    data: new Uint8Array(100),
  };
}
