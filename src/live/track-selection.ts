/**
 * Picks the tracks of a publisher that a session uses. This is the one place that knows how many tracks are used: one video track and one
 * audio track. All other tracks are left out here, and their packets are dropped.
 */
import type { AudioTrack, Track, TrackId, VideoTrack } from '#media/track.ts';

/** A track with the id that its packets come with. */
export interface SelectedTrack<Kind extends Track = Track> {
  readonly id: TrackId;
  readonly track: Kind;
}

/** The tracks that a session uses. */
export interface SelectedTracks {
  readonly video: SelectedTrack<VideoTrack> | undefined;
  readonly audio: SelectedTrack<AudioTrack> | undefined;
}

/** Picks the first video track and the first audio track, in the order in which the publisher began them. */
export function selectTracks(tracks: ReadonlyMap<TrackId, Track>): SelectedTracks {
  let video: SelectedTrack<VideoTrack> | undefined;
  let audio: SelectedTrack<AudioTrack> | undefined;
  for (const [id, track] of tracks) {
    if (track.kind === 'video') video ??= { id, track };
    else audio ??= { id, track };
  }
  return { video, audio };
}

/** The track that decides where segments begin and whose jumps restart the session's clock: the video where there is one. */
export function leaderOf({ video, audio }: SelectedTracks): SelectedTrack | undefined {
  return video ?? audio;
}

/** RFC 6381 names of the tracks that are used. A publisher that comes back with others begins a new session. */
export function codecsOf({ video, audio }: SelectedTracks): string {
  return [video, audio]
    .flatMap((selected) => (selected === undefined ? [] : [selected.track.codecString]))
    .sort()
    .join(',');
}
