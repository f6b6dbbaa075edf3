/**
 * The URLs at which recordings and clips are served.
 */
import type { Asset, AssetTrack } from '#domain/asset.ts';
import { SOURCE_RENDITION } from '#domain/profile.ts';

/** The folder of an asset's URLs. @param publicUrl the origin */
export const recordingBase = (publicUrl: string, { path }: Pick<Asset, 'path'>): string =>
  `${publicUrl}/recordings/${path}`;

/** The playlist of an asset. */
export const recordingPlaylistUrl = (publicUrl: string, asset: Pick<Asset, 'path'>): string =>
  `${recordingBase(publicUrl, asset)}/index.m3u8`;

/** The MP4 of the best rendition, or the audio if there is no video. Before the tracks are known, it is the MP4 of the source rendition. */
export function downloadUrl(publicUrl: string, asset: Pick<Asset, 'path' | 'tracks'>): string {
  const best = bestVideo(asset.tracks);
  const isAudio = best === undefined && asset.tracks.length > 0;
  const name = isAudio ? 'audio.m4a' : `${best?.rendition ?? SOURCE_RENDITION}.mp4`;
  return `${recordingBase(publicUrl, asset)}/${name}`;
}

/** The video of the source rendition, or else the one with the highest bitrate. */
export function bestVideo(tracks: readonly AssetTrack[]): AssetTrack | undefined {
  const videos = tracks.filter(({ kind }) => kind === 'video').toSorted((a, b) => b.bitrateBps - a.bitrateBps);
  return videos.find(({ rendition }) => rendition === SOURCE_RENDITION) ?? videos[0];
}

/** The audio that goes with every rendition. */
export const audioOf = (tracks: readonly AssetTrack[]): AssetTrack | undefined =>
  tracks.find(({ kind }) => kind === 'audio');

/** The approximate size in bytes of an MP4 with these tracks, estimated from their measured bitrates. */
export function approximateBytes(tracks: readonly (AssetTrack | undefined)[], durationS: number): number {
  return Math.round((tracks.reduce((bps, track) => bps + (track?.bitrateBps ?? 0), 0) * durationS) / 8);
}
