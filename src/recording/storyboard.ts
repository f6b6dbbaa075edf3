/**
 * Writes storyboards: WebVTT whose cues refer to tiles in sheets (by a media fragment, `#xywh=`), for the previews that players show above
 * their seek bar.
 */
import { TILE } from '#media/picture.ts';
import { SHEET_SIDE, TILE_PITCH, TILES_PER_SHEET } from '#media/tile-sheet.ts';

/** The name of a sheet, relative to the storyboard. */
export const sheetName = (index: number): string => `sheet-${index}.jpg`;

/**
 * Writes a storyboard. The cue of a tile lasts until that of the next tile. The first cue begins at 0.
 * @param positionsS the position of each tile in the playlist, in seconds, ascending
 * @param endS the length of the playlist in seconds
 * @returns undefined when there are no tiles
 */
export function storyboardOf(positionsS: readonly number[], endS: number): string | undefined {
  if (positionsS.length === 0) return undefined;
  const cues = positionsS.map((positionS, index) => {
    const fromS = index === 0 ? 0 : positionS;
    const untilS = Math.max(positionsS[index + 1] ?? endS, fromS + 0.001); // a cue must not end before it begins
    const inSheet = index % TILES_PER_SHEET;
    const x = (inSheet % SHEET_SIDE) * TILE.width;
    const y = Math.floor(inSheet / SHEET_SIDE) * TILE_PITCH;
    const sheet = sheetName(Math.floor(index / TILES_PER_SHEET));
    return `${timestamp(fromS)} --> ${timestamp(untilS)}\n${sheet}#xywh=${x},${y},${TILE.width},${TILE.height}\n`;
  });
  return ['WEBVTT\n', ...cues].join('\n');
}

/** A time in the format of WebVTT: `01:02:03.456`. */
function timestamp(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}.${String(ms % 1000).padStart(3, '0')}`;
}
