/**
 * The playlists of a restricted stream. They say the same as those of a public one, but for the addresses in them: a media playlist lies
 * below the viewer's ticket, and what it lists lies where all viewers find it.
 *
 * ```
 * /hls/<playback id>/index.m3u8?jwt=...                                   names, for this viewer alone,
 * /hls/<playback id>/<media path>/v/<ticket>/<rendition>.m3u8             which names, in the same words for all viewers,
 * /hls/<playback id>/<media path>/s/<proof>/<rendition>/<segment>
 * ```
 */
import type { MediaPath } from '#domain/ids.ts';
import type { RenderedPlaylist } from '#hls/hls.ts';
import { PlaylistText } from '#hls/rendered-playlist.ts';

/** From the folder of a media playlist below a ticket to the folder of its session. */
export const ABOVE_TICKET = '../../';

/** The media path with which each address in the multivariant playlist begins, at the start of a line or of a `URI`. */
const PLAYLIST_ADDRESS = /(^|URI=")([0-9a-z]{16})\//gm;
/** An address of media in a media playlist: the rendition, and the name of what is listed. Other playlists lie in no folder. */
const MEDIA_ADDRESS = /(^|URI=")([A-Za-z0-9_~%.-]+)\/([A-Za-z0-9_.~-]+)/gm;

/** The multivariant playlist for a viewer with this ticket. */
export function withTicket(multivariant: string, ticket: string): string {
  return multivariant.replace(PLAYLIST_ADDRESS, (_, before: string, path: string) => `${before}${path}/v/${ticket}/`);
}

/** With a ticket in the address and without, before and after a change of the policy. */
const MAX_VERSIONS = 4;

/** Makes media playlists restricted, once for all viewers. */
export class RestrictedPlaylists {
  /** What was made of each playlist, by what stands before its addresses and the policy of their proofs. */
  readonly #made = new WeakMap<RenderedPlaylist, Map<string, RenderedPlaylist>>();

  /**
   * The media playlist with the addresses that a restricted stream's media has.
   * @param folder from the playlist's folder to its session's: {@link ABOVE_TICKET}, or nothing
   * @param proofOf the proof for a name
   */
  of(
    playlist: RenderedPlaylist,
    { folder, mediaPath, proofOf }: { folder: string; mediaPath: MediaPath; proofOf: (name: string) => string },
  ): RenderedPlaylist {
    // The proof of a name that no segment has tells policies apart.
    const which = `${folder} ${mediaPath} ${proofOf('')}`;
    const versions = this.#made.get(playlist) ?? new Map<string, RenderedPlaylist>();
    this.#made.set(playlist, versions);
    let made = versions.get(which);
    if (made === undefined) {
      const text = playlist.text.replace(
        MEDIA_ADDRESS,
        (_, before: string, rendition: string, name: string) =>
          `${before}${folder}s/${proofOf(name)}/${rendition}/${name}`,
      );
      made = new PlaylistText(text, playlist.ended);
      if (versions.size >= MAX_VERSIONS) versions.clear();
      versions.set(which, made);
    }
    return made;
  }
}
