/**
 * Playlists whose media comes from a CDN and not from this server: each segment is a byte range of a volume in the bucket. A redirect for
 * each segment would cost this server a request, and Apple's players do not support it. A URL in the playlist costs nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { volumeName } from './index-file.ts';
import type { RecordedRendition } from './recording-index.ts';

const MAP = /\/init-(\d{1,9})\.mp4"$/;
const SEGMENT = /\/(\d{1,9})\.m4s$/;

/** The number of characters that are rewritten in one turn of the event loop. They name a few hundred segments. */
const PIECE_LENGTH = 16_384;

/**
 * Rewrites the playlist of a rendition that has ended, in small pieces, because it may list the segments of a whole day.
 * @param text the playlist of this server
 * @param folder the URL of the recording's folder at the CDN, without a slash at the end
 */
export async function publicPlaylist(
  text: string,
  { id, segments, data }: RecordedRendition,
  folder: string,
): Promise<string> {
  const pieces: string[] = [];
  /** The lines of the present piece. */
  let lines: string[] = [];
  /** The line of an EXT-X-MAP and the size of its init segment, until the next segment shows which volume has it. */
  let map: { readonly at: number; readonly sizeBytes: number } | undefined;
  let isGap = false;
  let pieceEnd = PIECE_LENGTH;
  for (let from = 0; from <= text.length; ) {
    if (from > pieceEnd && map === undefined) {
      pieces.push(lines.join('\n'));
      lines = [];
      await nextTurn();
      pieceEnd = from + PIECE_LENGTH;
    }
    const lineEnd = text.indexOf('\n', from);
    const line = text.slice(from, lineEnd === -1 ? text.length : lineEnd);
    from = lineEnd === -1 ? text.length + 1 : lineEnd + 1;
    const [, init] = line.startsWith('#EXT-X-MAP:') ? (MAP.exec(line) ?? []) : [];
    const [, number] = line.startsWith('#') ? [] : (SEGMENT.exec(line) ?? []);
    const segment = number === undefined ? undefined : segments.at(segments.indexOf(Number(number)));
    if (init !== undefined) {
      const sizeBytes = data.inits.find((each) => each.number === Number(init))?.bytes.length ?? 0;
      map = { at: lines.push(line) - 1, sizeBytes };
      continue;
    }
    // A gap has no bytes anywhere.
    if (segment === undefined || isGap) lines.push(line);
    else {
      const address = `${folder}/${volumeName(id, segment.volume)}`;
      // A volume begins with the init segment of its media.
      if (map !== undefined) lines[map.at] = `#EXT-X-MAP:URI="${address}",BYTERANGE="${map.sizeBytes}@0"`;
      map = undefined;
      lines.push(`#EXT-X-BYTERANGE:${segment.sizeBytes}@${segment.offset}`, address);
    }
    isGap = line === '#EXT-X-GAP' || (isGap && line.startsWith('#'));
  }
  return [...pieces, lines.join('\n')].join('\n');
}
