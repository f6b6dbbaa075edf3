/**
 * Joins tiles into a sheet (a sprite image for storyboards) without decoding them.
 *
 * All tiles are baseline JPEGs of one size with the same tables, and a restart marker follows each row of blocks (ITU-T T.81 §E.1.4). So
 * each row of blocks can be decoded by itself, and a sheet is one header followed by these rows in another order.
 * `transcode/worker/photographer.ts` makes the encoder write such files.
 */
import { TILE } from './picture.ts';

/** The number of tiles in a row of a sheet, and the number of rows. */
export const SHEET_SIDE = 10;
/** The number of tiles in a full sheet. */
export const TILES_PER_SHEET = SHEET_SIDE * SHEET_SIDE;

/** The side of a coded block (an MCU) in pixels, with colour at half the resolution. */
const BLOCK = 16;
const BLOCKS_ACROSS = TILE.width / BLOCK;
/** The number of rows of blocks in a tile. The last row reaches below the picture, and its lower part is not shown. */
const BLOCK_ROWS = Math.ceil(TILE.height / BLOCK);
/** The distance in pixels from one tile of a sheet to the one below it. */
export const TILE_PITCH = BLOCK_ROWS * BLOCK;

/**
 * A grey block in the Huffman codes of T.81 §K.3: four luma blocks and two of colour, each without a DC difference and without AC
 * coefficients.
 */
const GREY_BLOCK = [0x28, 0xa2, 0x8a, 0x00];
const GREY_ROW = Uint8Array.from(Array.from({ length: BLOCKS_ACROSS }, () => GREY_BLOCK).flat());
const GREY_TILE: readonly Uint8Array[] = Array.from({ length: BLOCK_ROWS }, () => GREY_ROW);

const SOF0 = 0xc0;
const RST0 = 0xd0;
const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const DRI = 0xdd;

/** The parts of a tile. */
interface TileParts {
  /** Everything before the data of the scan. */
  readonly header: Uint8Array;
  /** Where the size of the picture is in the header: height, then width, 16 bits each. */
  readonly sizeAt: number;
  /** The coded rows of blocks. */
  readonly rows: readonly Uint8Array[];
}

/**
 * Joins tiles into a sheet, ten in a row. A sheet of fewer than ten tiles is only as wide as these. Where a tile cannot be used, the sheet
 * is grey.
 * @param tiles at most {@link TILES_PER_SHEET}, in order
 * @returns a JPEG; undefined when none of the tiles can be used
 */
export function joinTiles(tiles: readonly Uint8Array[]): Uint8Array | undefined {
  const parts = tiles.slice(0, TILES_PER_SHEET).map((tile) => takeApart(tile));
  const model = parts.find((part) => part !== undefined);
  if (model === undefined) return undefined;
  const across = Math.min(parts.length, SHEET_SIDE);
  const down = Math.ceil(parts.length / SHEET_SIDE);
  const header = Buffer.from(model.header);
  header.writeUInt16BE(down * TILE_PITCH, model.sizeAt);
  header.writeUInt16BE(across * TILE.width, model.sizeAt + 2);
  const pieces: Uint8Array[] = [header];
  let written = 0;
  for (let y = 0; y < down * BLOCK_ROWS; y += 1) {
    for (let x = 0; x < across; x += 1) {
      const part = parts[Math.floor(y / BLOCK_ROWS) * SHEET_SIDE + x];
      const rows =
        part !== undefined && model.header.every((byte, at) => byte === part.header[at]) ? part.rows : GREY_TILE;
      if (written > 0) pieces.push(Uint8Array.of(0xff, RST0 + ((written - 1) % 8)));
      pieces.push(rows[y % BLOCK_ROWS]!);
      written += 1;
    }
  }
  pieces.push(Uint8Array.of(0xff, EOI));
  return Buffer.concat(pieces);
}

/** Takes a tile apart. Undefined when it is not a JPEG of the size and with the restart markers that tiles have. */
function takeApart(jpeg: Uint8Array): TileParts | undefined {
  if (jpeg[0] !== 0xff || jpeg[1] !== SOI) return undefined;
  const word = (at: number) => (jpeg[at] ?? 0) * 256 + (jpeg[at + 1] ?? 0);
  let sizeAt: number | undefined;
  let restartAfter = 0;
  let at = 2;
  for (;;) {
    if (jpeg[at] !== 0xff || at + 4 > jpeg.length) return undefined;
    const marker = jpeg[at + 1]!;
    if (marker === SOF0) sizeAt = at + 5;
    if (marker === DRI) restartAfter = word(at + 4);
    at += 2 + Math.max(2, word(at + 2));
    if (marker === SOS) break;
  }
  const hasForm =
    sizeAt !== undefined &&
    word(sizeAt) === TILE.height &&
    word(sizeAt + 2) === TILE.width &&
    restartAfter === BLOCKS_ACROSS;
  if (!hasForm) return undefined;
  const rows = rowsOf(jpeg, at);
  return rows?.length === BLOCK_ROWS ? { header: jpeg.subarray(0, at), sizeAt: sizeAt!, rows } : undefined;
}

/** Splits the data of a scan at its restart markers. Undefined when a marker is wrong, or the end of the image is missing. */
function rowsOf(jpeg: Uint8Array, scanAt: number): Uint8Array[] | undefined {
  const rows: Uint8Array[] = [];
  let rowAt = scanAt;
  for (let at = scanAt; at + 1 < jpeg.length; at += 1) {
    const marker = jpeg[at + 1]!;
    if (jpeg[at] !== 0xff || marker === 0) continue;
    rows.push(jpeg.subarray(rowAt, at));
    if (marker === EOI) return rows;
    if (marker !== RST0 + ((rows.length - 1) % 8)) return undefined;
    rowAt = at + 2;
  }
  return undefined;
}
