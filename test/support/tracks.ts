/**
 * Tracks and packets for tests of rules that look only at times and keyframes.
 */
import type { Publication } from '#ingest/ingest.ts';
import { type Ticks, ticks } from '#lib/units.ts';
import type { Packet, SegmentMark } from '#media/packet.ts';
import type { PacketEvent } from '#media/session-event.ts';
import { type AudioTrack, type Track, type TrackId, trackId, type VideoTrack } from '#media/track.ts';

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
  reorderedFrames: undefined,
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

/** A packet as RTMP ingest makes it: its times are whole milliseconds, converted to ticks of the track. */
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

/** The ids of a publisher's tracks in tests, which are those that RTMP ingest uses. */
export const VIDEO_ID = trackId('video');
export const AUDIO_ID = trackId('audio');

/** Tracks by their ids, as a publisher announces them. */
export function tracksById(...tracks: readonly Track[]): ReadonlyMap<TrackId, Track> {
  return new Map(tracks.map((track) => [track.kind === 'video' ? VIDEO_ID : AUDIO_ID, track]));
}

/** A packet as an event of a sequence. */
export const asEvent = (packet: Packet): PacketEvent => ({ type: 'packet', packet });

/** The mark of a segment, by default without a discontinuity. */
export function markAt(ordinal: number, changes: Partial<SegmentMark> = {}): SegmentMark {
  return { ordinal, independent: true, discontinuity: false, discontinuitiesBefore: 0, ...changes };
}

/** A publication whose tracks have the ids that RTMP gives them. */
export interface RtmpPublication extends Omit<Publication, 'track' | 'packet'> {
  track(track: Track): void;
  packet(packet: Packet): void;
}

/** Gives the tracks and packets of a publication their ids. */
export function rtmpPublication(publication: Publication): RtmpPublication {
  const idOf = ({ kind }: Pick<Packet, 'kind'>) => (kind === 'video' ? VIDEO_ID : AUDIO_ID);
  return {
    announce: (announcement) => publication.announce(announcement),
    track: (track) => publication.track(track, idOf(track)),
    packet: (packet) => publication.packet(packet, idOf(packet)),
    silentFor: (silentMs) => publication.silentFor(silentMs),
    end: (reason) => publication.end(reason),
  };
}
