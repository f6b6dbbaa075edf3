import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isHelloComplete } from './client-hello.ts';

/** A record of a handshake. */
const record = (fragment: Buffer) =>
  Buffer.concat([Buffer.of(22, 3, 1, fragment.length >> 8, fragment.length & 255), fragment]);
/** A ClientHello with a body of this many bytes. */
const hello = (length: number) => Buffer.concat([Buffer.of(1, 0, length >> 8, length & 255), Buffer.alloc(length)]);

test('a ClientHello is complete with its last byte and not before', () => {
  const bytes = record(hello(600));
  for (let length = 0; length < bytes.length; length += 1)
    assert.equal(isHelloComplete(bytes.subarray(0, length)), false);
  assert.equal(isHelloComplete(bytes), true);
  assert.equal(isHelloComplete(Buffer.concat([bytes, Buffer.of(23)])), true);
});

test('a ClientHello in several records is complete with the last of them', () => {
  const message = hello(600);
  const pieces = [message.subarray(0, 2), message.subarray(2, 2), message.subarray(2, 300), message.subarray(300)];
  const records = pieces.map(record);
  assert.equal(isHelloComplete(Buffer.concat(records.slice(0, 3))), false);
  assert.equal(isHelloComplete(Buffer.concat(records)), true);
});

test('bytes that are not a handshake go to TLS at once, which refuses them', () => {
  assert.equal(isHelloComplete(Buffer.from('GET / HTTP/1.1\r\n')), true);
  assert.equal(isHelloComplete(Buffer.concat([record(hello(600).subarray(0, 10)), Buffer.of(21, 3, 3)])), true);
});

test('16 kB of the smallest records are read without a copy of any byte', (t: TestContext) => {
  for (const payload of [0, 1, 4]) {
    const first = record(Buffer.of(1, 0xff, 0xff, 0xff));
    const bytes = Buffer.concat([first, ...Array.from({ length: 3276 }, () => record(Buffer.alloc(payload)))]);
    const unfinished = bytes.subarray(0, 16_383);
    const concat = t.mock.method(Buffer, 'concat');
    assert.equal(isHelloComplete(unfinished), false);
    assert.equal(concat.mock.callCount(), 0);
    concat.mock.restore();
  }
});
