/**
 * Selects the tracks of a publisher that a session uses: one video track and one audio track. No other file of `live` chooses tracks.
 * `session-media.ts` drops the packets of all others.
 */
import type { AudioTrack, Track, TrackId, VideoTrack } from '#media/track.ts';

/** A track with the id of its packets. */
export interface SelectedTrack<Kind extends Track = Track> {
  readonly id: TrackId;
  readonly track: Kind;
}

/** The tracks that a session uses. */
export interface SelectedTracks {
  readonly video: SelectedTrack<VideoTrack> | undefined;
  readonly audio: SelectedTrack<AudioTrack> | undefined;
}

/** Selects the first video track and the first audio track, in the order in which the publisher began them. */
export function selectTracks(tracks: ReadonlyMap<TrackId, Track>): SelectedTracks {
  let video: SelectedTrack<VideoTrack> | undefined;
  let audio: SelectedTrack<AudioTrack> | undefined;
  for (const [id, track] of tracks) {
    if (track.kind === 'video') video ??= { id, track };
    else audio ??= { id, track };
  }
  return { video, audio };
}

/** The track that decides where segments begin and whose jumps restart the session's clock: the video if there is one. */
export function leaderOf({ video, audio }: SelectedTracks): SelectedTrack | undefined {
  return video ?? audio;
}

/** The RFC 6381 names of the selected tracks. A publisher that comes back with other codecs begins a new session. */
export function codecsOf({ video, audio }: SelectedTracks): string {
  return [video, audio]
    .flatMap((selected) => (selected === undefined ? [] : [selected.track.codecString]))
    .sort()
    .join(',');
}
