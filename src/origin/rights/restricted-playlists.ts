/**
 * Makes the playlists of a restricted stream. They differ from those of a public stream only in their addresses: a media playlist is below
 * the viewer's ticket, and the media in it is at an address that is the same for all viewers.
 *
 * ```
 * /hls/<playback id>/index.m3u8?jwt=...                                   names, for this viewer alone,
 * /hls/<playback id>/<media path>/v/<ticket>/<rendition>.m3u8             which names, in the same words for all viewers,
 * /hls/<playback id>/<media path>/s/<proof>/<rendition>/<segment>
 * ```
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MediaPath } from '#domain/ids.ts';
import type { RenderedPlaylist } from '#hls/hls.ts';
import { PlaylistText } from '#hls/rendered-playlist.ts';
import { BoundedMap } from '#lib/bounded-map.ts';

/** The path from the folder of a media playlist below a ticket to the folder of its session. */
export const ABOVE_TICKET = '../../';

/** Matches the media path at the beginning of each address in the multivariant playlist, at the start of a line or of a `URI`. */
const PLAYLIST_ADDRESS = /(^|URI=")([0-9a-z]{16})\//gm;
/** Matches an address of media in a media playlist: the rendition and the file name. Addresses of other playlists have no folder. */
const MEDIA_ADDRESS = /(^|URI=")([A-Za-z0-9_~%.-]+)\/([A-Za-z0-9_.~-]+)/gm;

/** Puts a viewer's ticket into the addresses of the multivariant playlist. */
export function withTicket(multivariant: string, ticket: string): string {
  return multivariant.replace(PLAYLIST_ADDRESS, (_, before: string, path: string) => `${before}${path}/v/${ticket}/`);
}

/** The number of versions kept of each playlist: with and without a ticket in its address, before and after a change of the policy. */
const MAX_VERSIONS = 4;

/** The number of characters of a playlist that are rewritten in one turn of the event loop. They name a few hundred segments. */
const PIECE_LENGTH = 16_384;

/** Where a restricted playlist is located, and how its addresses are made. */
export interface Restriction {
  /** The path from the playlist's folder to that of its session: {@link ABOVE_TICKET}, or empty. */
  readonly folder: string;
  readonly mediaPath: MediaPath;
  /** Makes the proof for a name. */
  readonly proofOf: (name: string) => string;
}

/** Makes media playlists restricted, once for all viewers. */
export class RestrictedPlaylists {
  readonly #made = new Versions<RenderedPlaylist>();
  readonly #long = new Versions<Promise<RenderedPlaylist>>();

  /** Returns the media playlist with the addresses of a restricted stream. */
  of(playlist: RenderedPlaylist, restriction: Restriction): RenderedPlaylist {
    return this.#made.of(playlist, restriction, () => {
      return new PlaylistText(restricted(playlist.text, restriction), playlist.ended);
    });
  }

  /** Does the same for a playlist that may cover a whole day. It is made in small pieces, so that it does not block the event loop. */
  long(playlist: RenderedPlaylist, restriction: Restriction): Promise<RenderedPlaylist> {
    return this.#long.of(playlist, restriction, async () => {
      const { text, ended } = playlist;
      const made: string[] = [];
      for (let from = 0; from < text.length; ) {
        if (from > 0) await nextTurn();
        const lineEnd = text.indexOf('\n', from + PIECE_LENGTH) + 1;
        const until = lineEnd === 0 ? text.length : lineEnd;
        made.push(restricted(text.slice(from, until), restriction));
        from = until;
      }
      return new PlaylistText(made.join(''), ended);
    });
  }
}

/** Puts proofs into the addresses in some lines of a media playlist. No line may be cut. */
function restricted(lines: string, { folder, proofOf }: Restriction): string {
  return lines.replace(
    MEDIA_ADDRESS,
    (_, before: string, rendition: string, name: string) => `${before}${folder}s/${proofOf(name)}/${rendition}/${name}`,
  );
}

/** The restricted versions of each playlist, by the prefix of their addresses and the policy of their proofs. */
class Versions<Made> {
  readonly #made = new WeakMap<RenderedPlaylist, BoundedMap<string, Made>>();

  of(playlist: RenderedPlaylist, { folder, mediaPath, proofOf }: Restriction, make: () => Made): Made {
    // The proof of an empty name identifies the policy.
    const which = `${folder} ${mediaPath} ${proofOf('')}`;
    const versions = this.#made.get(playlist) ?? new BoundedMap<string, Made>(MAX_VERSIONS);
    this.#made.set(playlist, versions);
    let made = versions.get(which);
    if (made === undefined) {
      made = make();
      versions.set(which, made);
    }
    return made;
  }
}
