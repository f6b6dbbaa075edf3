import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ascii, box, bytes, fullBox, serialize, u8, u16, u32, u64, zeros } from './box.ts';

const hex = (written: Uint8Array): string => Buffer.from(written).toString('hex');

describe('a box', () => {
  it('begins with its size and type, and its size includes nested boxes', () => {
    const written = serialize(box('moov', box('free', u8(1, 2)), u16(0x0304)));
    assert.equal(hex(written), '000000146d6f6f76' + '0000000a667265650102' + '0304');
  });

  it('with a version has 24 bits of flags after it, and the highest bits can be set', () => {
    assert.equal(
      hex(serialize(fullBox('tfhd', 1, 0x820000, u32(0xffffffff)))),
      '0000001074666864' + '01820000' + 'ffffffff',
    );
  });
});

describe('pieces', () => {
  it('are written one after another into a buffer of exactly their size', () => {
    const written = serialize(ascii('iso6'), zeros(2), bytes(Uint8Array.of(9, 8)));
    assert.equal(hex(written), '69736f360000' + '0908');
    assert.equal(written.buffer.byteLength, written.length);
  });

  it('of 64 bits keep every safe integer', () => {
    assert.equal(hex(serialize(u64(0))), '0000000000000000');
    assert.equal(hex(serialize(u64(2 ** 32))), '0000000100000000');
    assert.equal(hex(serialize(u64(Number.MAX_SAFE_INTEGER))), '001fffffffffffff');
  });

  it('refuse a number that does not fit', () => {
    for (const piece of [u8(256), u16(65_536), u32(2 ** 32), u32(-1), u64(-1)]) {
      assert.throws(() => serialize(piece), RangeError);
    }
  });
});
