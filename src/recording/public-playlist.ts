/**
 * Playlists whose media comes from somewhere else than this server: segments are byte ranges of volumes, which a CDN serves from the bucket.
 * An address in the playlist costs nothing, and a redirect of every segment would (and is not for Apple's players).
 */
import { volumeName } from './index-file.ts';
import type { RecordedRendition } from './recording-index.ts';

const MAP = /\/init-(\d{1,9})\.mp4"$/;
const SEGMENT = /\/(\d{1,9})\.m4s$/;

/**
 * Rewrites the playlist of a rendition that has ended.
 * @param folder the URL of the recording's folder, without a slash at the end
 */
export function publicPlaylist(text: string, { id, segments, data }: RecordedRendition, folder: string): string {
  const lines: string[] = [];
  /** Where a map stands, and the size of what it names, until it is known which volume comes next. */
  let map: { readonly at: number; readonly sizeBytes: number } | undefined;
  let isGap = false;
  for (const line of text.split('\n')) {
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
  return lines.join('\n');
}
