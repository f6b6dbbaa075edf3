import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PayloadMemory } from './payload-memory.ts';

describe('the memory of payloads', () => {
  it('lends the same memory again after it was given back, in the size that was asked for', () => {
    const memory = new PayloadMemory();
    const first = memory.take(5000);
    memory.giveBack(first);
    const second = memory.take(3000);
    assert.equal(second.buffer, first.buffer);
    assert.deepEqual([first.length, second.length], [5000, 3000]);
  });

  it('never lends memory that somebody still has', () => {
    const memory = new PayloadMemory();
    const lent = [memory.take(100), memory.take(100), memory.take(100)];
    for (const payload of lent) memory.giveBack(payload);
    const again = [memory.take(100), memory.take(100), memory.take(100)];
    assert.equal(new Set(again.map(({ buffer }) => buffer)).size, 3);
  });

  it('keeps neither many buffers nor large ones', () => {
    const memory = new PayloadMemory();
    const large = memory.take(4 * 1024 * 1024);
    memory.giveBack(large);
    assert.notEqual(memory.take(10).buffer, large.buffer);
    const lent = Array.from({ length: 20 }, () => memory.take(100));
    for (const payload of lent) memory.giveBack(payload);
    const known = new Set(lent.map(({ buffer }) => buffer));
    const again = Array.from({ length: 20 }, () => memory.take(100));
    assert.equal(again.filter(({ buffer }) => known.has(buffer)).length, 2);
  });

  it('replaces a buffer that is too small', () => {
    const memory = new PayloadMemory();
    memory.giveBack(memory.take(10));
    assert.equal(memory.take(20_000).length, 20_000);
  });
});
