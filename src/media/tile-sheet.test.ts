import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { joinTiles, SHEET_SIDE, TILE_PITCH, TILES_PER_SHEET } from './tile-sheet.ts';

/** A file of the form of a tile, whose rows of blocks are one byte each. */
function tileOf(value: number, { height = 90, table = '01', rows = 6 } = {}): Buffer {
  const header = [
    'ffd8',
    `ffdb0003${table}`, // a quantisation table
    'ffdd0004000a', // a restart marker after ten blocks
    `ffc0000808${height.toString(16).padStart(4, '0')}00a003`, // the size
    'ffda0002',
  ];
  const row = value.toString(16).padStart(2, '0');
  const scan = Array.from({ length: rows }, (_, index) => (index === 0 ? row : `ffd${(index - 1) % 8}${row}`));
  return Buffer.from([...header, ...scan, 'ffd9'].join(''), 'hex');
}

it('joins tiles row by row, with restart markers that count on, and the size of the sheet', () => {
  const sheet = Buffer.from(joinTiles([tileOf(1), tileOf(2)])!);
  const scan = sheet.indexOf(Buffer.of(0xff, 0xda)) + 4;
  assert.deepEqual([sheet.readUInt16BE(18), sheet.readUInt16BE(20)], [TILE_PITCH, 320]);
  const rows = [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2];
  const expected = rows.flatMap((value, index) => (index === 0 ? [value] : [0xff, 0xd0 + ((index - 1) % 8), value]));
  assert.deepEqual([...sheet.subarray(scan)], [...expected, 0xff, 0xd9]);
});

it('leaves tiles of another form grey, and makes no sheet of nothing but these', () => {
  const others = [
    tileOf(2, { height: 80 }),
    tileOf(2, { rows: 5 }),
    tileOf(2, { rows: 7 }),
    tileOf(2, { table: '02' }),
    tileOf(2).subarray(0, 40),
    Buffer.from('no JPEG'),
  ];
  for (const other of others) {
    const sheet = Buffer.from(joinTiles([tileOf(1), other])!);
    assert.equal(sheet.includes(Buffer.of(0xff, 0xd1, 2)), false);
    assert.ok(sheet.includes(Buffer.of(0x28, 0xa2, 0x8a, 0x00)), 'grey blocks');
  }
  assert.equal(joinTiles([others[0]!, others[5]!]), undefined);
  assert.equal(joinTiles([]), undefined);
});

it('uses no more tiles than a sheet has', () => {
  const many = Array.from({ length: TILES_PER_SHEET + 50 }, () => tileOf(1));
  const sheet = Buffer.from(joinTiles(many)!);
  assert.deepEqual([sheet.readUInt16BE(18), sheet.readUInt16BE(20)], [SHEET_SIDE * TILE_PITCH, 1600]);
});

it('never throws, whatever the bytes are', () => {
  const damaged = fc.tuple(fc.nat(60), fc.nat(255)).map(([at, value]) => {
    const tile = tileOf(1);
    tile[at] = value;
    return tile;
  });
  fc.assert(
    fc.property(fc.array(fc.oneof(damaged, fc.uint8Array({ maxLength: 100 })), { maxLength: 20 }), (tiles) => {
      joinTiles(tiles);
    }),
  );
});
