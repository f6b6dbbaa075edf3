import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SentHeads } from './sent-heads.ts';

const head = (): Uint8Array => new Uint8Array(10);
const never = (): void => assert.fail('this head must not be lost');

test('a head counts once, however many viewers it is sent to, until it was sent to all of them', () => {
  const heads = new SentHeads(100);
  const shared = head();
  const sent = Array.from({ length: 50 }, (_, viewer) => heads.send(shared, `10.0.${viewer}.1`, never));
  using _other = heads.send(head(), '10.0.0.1', never);
  assert.equal(heads.bytes, 20);
  for (const each of sent) {
    assert.equal(heads.bytes, 20);
    each[Symbol.dispose]();
    each[Symbol.dispose]();
  }
  assert.equal(heads.bytes, 10);
});

test('when memory is short, the site with the most loses the oldest of equal heads, also to itself, and others lose nothing', () => {
  const heads = new SentHeads(100);
  const lost: number[] = [];
  // The hosts of one /24 count together.
  const take = (host: number) => heads.send(head(), `10.0.0.${host}`, () => void lost.push(host));
  const sent = Array.from({ length: 10 }, (_, host) => take(host));
  for (let viewer = 1; viewer <= 4; viewer++) heads.send(head(), `10.0.${viewer}.1`, never);
  assert.deepEqual([lost, heads.bytes], [[0, 1, 2, 3], 100]);
  take(200);
  assert.deepEqual([lost, heads.bytes], [[0, 1, 2, 3, 4], 100]);
  for (const each of sent) each[Symbol.dispose]();
  assert.equal(heads.bytes, 50);
});

test('a head that is larger than the memory is refused, and takes none of it', () => {
  const heads = new SentHeads(9);
  assert.throws(() => heads.send(head(), '10.0.0.1', never), { code: 'too_many_viewers' });
  assert.equal(heads.bytes, 0);
});
