/**
 * Describes how to play streams, recordings and clips to anybody. The names of sources are those that clients of the reference service
 * know.
 */
import type { Static } from 'typebox';
import type { Asset } from '#domain/asset.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import type { Stream } from '#domain/stream.ts';
import type { LiveDirectory } from '#live/live.ts';
import { approximateBytes, audioOf, recordingBase, recordingPlaylistUrl } from './recording-urls.ts';
import type { PlaybackSchema } from './schemas/playback.ts';

type Playback = Static<typeof PlaybackSchema>;
type Source = Playback['meta']['source'][number];

/** Describes how to play a stream. @param publicUrl the origin of the URLs in the description */
export function presentStreamPlayback(stream: Stream, live: LiveDirectory, publicUrl: string): Playback {
  const isActive = live.status(stream.id)?.isActive ?? stream.isActive;
  const base = `${publicUrl}/hls/${stream.playbackId}`;
  const watchable = live.watch(stream.playbackId);
  const hasThumbnail = watchable === undefined ? stream.health?.hasThumbnail : watchable.thumbnail !== undefined;
  return {
    type: 'live',
    meta: {
      ...policyOf(stream.playbackPolicy),
      live: isActive ? 1 : 0,
      source: [playlist(`${base}/index.m3u8`), ...(hasThumbnail ? [picture(`${base}/thumbnail.jpg`)] : [])],
    },
  };
}

/** Describes how to play a recording or clip. @param policy that of the asset, or of its stream if the asset has none */
export function presentAssetPlayback(
  asset: Asset,
  type: 'vod' | 'recording',
  policy: PlaybackPolicy | undefined,
  publicUrl: string,
): Playback {
  const base = recordingBase(publicUrl, asset);
  const videos = asset.tracks.filter(({ kind }) => kind === 'video');
  const pictures: Source[] = [
    { hrn: 'Thumbnails', type: 'text/vtt', url: `${base}/storyboard.vtt` },
    picture(`${base}/poster.jpg`),
  ];
  return {
    type,
    meta: {
      ...policyOf(policy),
      source: [
        playlist(recordingPlaylistUrl(publicUrl, asset)),
        ...downloads(asset, base),
        ...(videos.length > 0 ? pictures : []),
      ],
    },
  };
}

/** The recording of a running session, for `recordings=true`. */
export function presentDvr(recording: Asset | undefined, publicUrl: string): Playback['meta']['dvrPlayback'] {
  if (recording === undefined)
    return [{ error: 'No recording of this stream is running in which viewers may go back.' }];
  return [playlist(recordingPlaylistUrl(publicUrl, recording))];
}

/** The MP4 of each rendition, the best one first, or the audio if there is no video. */
function downloads({ tracks, durationS }: Asset, base: string): Source[] {
  const audio = audioOf(tracks);
  const mp4 = (name: string, of: readonly (typeof audio)[]) => ({
    hrn: 'MP4',
    type: 'html5/video/mp4',
    url: `${base}/${name}`,
    size: approximateBytes(of, durationS),
    bitrate: of.reduce((bps, track) => bps + Math.round(track?.bitrateBps ?? 0), 0),
  });
  const videos = tracks.filter(({ kind }) => kind === 'video').toSorted((a, b) => b.bitrateBps - a.bitrateBps);
  if (videos.length === 0) return audio === undefined ? [] : [mp4('audio.m4a', [audio])];
  return videos.map((video) => ({
    ...mp4(`${video.rendition}.mp4`, [video, audio]),
    ...(video.width !== undefined && { width: video.width }),
    ...(video.height !== undefined && { height: video.height }),
  }));
}

/** Only the type of a policy is shown. The other fields are for the owner. */
const policyOf = (policy: PlaybackPolicy | undefined) => (policy ? { playbackPolicy: { type: policy.type } } : {});

/** Clients of the reference service know only this name, although the segments are fragmented MP4. */
const playlist = (url: string): Source => ({ hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url });

const picture = (url: string): Source => ({ hrn: 'Thumbnail (JPEG)', type: 'image/jpeg', url });
