/**
 * Renders the multivariant playlist as text: a pure function of the renditions (rfc8216bis §4.4.6, Apple's authoring rules 9).
 *
 * It never has EXT-X-INDEPENDENT-SEGMENTS, which would promise something about all future segments that a publisher with sparse keyframes
 * cannot keep. Media playlists have the tag when it is true for the segments they list.
 */
import type { VideoRange } from '#media/track.ts';
import type { Bitrates } from './bitrate-meter.ts';

/** A rendition as the multivariant playlist describes it. */
export type ListedRendition = {
  /** The URI of its media playlist, relative to the multivariant one. */
  readonly uri: string;
  readonly codecString: string;
  readonly bitrates: Bitrates;
} & (
  | {
      readonly kind: 'video';
      readonly width: number;
      readonly height: number;
      /** Undefined while it is not known. */
      readonly framesPerSecond: number | undefined;
      readonly videoRange: VideoRange | undefined;
    }
  | { readonly kind: 'audio'; readonly name: string; readonly channels: number }
);

type Video = Extract<ListedRendition, { kind: 'video' }>;
type Audio = Extract<ListedRendition, { kind: 'audio' }>;

const AUDIO_GROUP = 'audio';

/** Renders a variant for each video rendition with the audio group, or for each audio rendition without video. */
export function renderMultivariantPlaylist(renditions: readonly ListedRendition[]): string {
  const videos = renditions.filter((each): each is Video => each.kind === 'video');
  const audios = renditions.filter((each): each is Audio => each.kind === 'audio');
  const lines = ['#EXTM3U', '#EXT-X-VERSION:9'];
  if (videos.length === 0) {
    for (const audio of audios) lines.push(`#EXT-X-STREAM-INF:${rates(audio, [])},${codecs(audio, [])}`, audio.uri);
  } else {
    for (const [index, audio] of audios.entries()) lines.push(media(audio, index === 0));
    // hls.js 1.7 takes an absent frame rate for 0, and never changes from a variant with a frame rate to one with a lower rate.
    const hasFrameRates = videos.every(({ framesPerSecond }) => framesPerSecond !== undefined);
    for (const video of videos) lines.push(variant(video, audios, hasFrameRates), video.uri);
  }
  return `${lines.join('\n')}\n`;
}

function media({ name, channels, uri }: Audio, isDefault: boolean): string {
  return (
    `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="${AUDIO_GROUP}",NAME="${name}",DEFAULT=${isDefault ? 'YES' : 'NO'},` +
    `AUTOSELECT=YES,CHANNELS="${channels}",URI="${uri}"`
  );
}

function variant(video: Video, audios: readonly Audio[], hasFrameRate: boolean): string {
  const { framesPerSecond } = video;
  const attributes = [rates(video, audios), codecs(video, audios), `RESOLUTION=${video.width}x${video.height}`];
  if (hasFrameRate && framesPerSecond !== undefined) attributes.push(`FRAME-RATE=${framesPerSecond.toFixed(3)}`);
  if (video.videoRange !== undefined) attributes.push(`VIDEO-RANGE=${video.videoRange}`);
  if (audios.length > 0) attributes.push(`AUDIO="${AUDIO_GROUP}"`);
  return `#EXT-X-STREAM-INF:${attributes.join(',')}`;
}

/** The bitrates of a variant: its own plus the largest in the group. */
function rates({ bitrates }: ListedRendition, group: readonly ListedRendition[]): string {
  const peakBps = bitrates.peakBps + Math.max(0, ...group.map((each) => each.bitrates.peakBps));
  const averageBps = bitrates.averageBps + Math.max(0, ...group.map((each) => each.bitrates.averageBps));
  return `BANDWIDTH=${peakBps},AVERAGE-BANDWIDTH=${averageBps}`;
}

function codecs(rendition: ListedRendition, group: readonly ListedRendition[]): string {
  const names = new Set([rendition, ...group].map((each) => each.codecString));
  return `CODECS="${[...names].join(',')}"`;
}
