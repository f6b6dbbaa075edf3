import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHelloWhole } from './client-hello.ts';

/** A record of a handshake. */
const record = (fragment: Buffer) =>
  Buffer.concat([Buffer.of(22, 3, 1, fragment.length >> 8, fragment.length & 255), fragment]);
/** A ClientHello of so many bytes after its header. */
const hello = (length: number) => Buffer.concat([Buffer.of(1, 0, length >> 8, length & 255), Buffer.alloc(length)]);

test('a hello is whole with its last byte and not before', () => {
  const bytes = record(hello(600));
  for (let length = 0; length < bytes.length; length += 1) assert.equal(isHelloWhole(bytes.subarray(0, length)), false);
  assert.equal(isHelloWhole(bytes), true);
  assert.equal(isHelloWhole(Buffer.concat([bytes, Buffer.of(23)])), true);
});

test('a hello in several records is whole with the last of them', () => {
  const message = hello(600);
  const pieces = [message.subarray(0, 2), message.subarray(2, 2), message.subarray(2, 300), message.subarray(300)];
  const records = pieces.map(record);
  assert.equal(isHelloWhole(Buffer.concat(records.slice(0, 3))), false);
  assert.equal(isHelloWhole(Buffer.concat(records)), true);
});

test('what is no handshake is not waited for: TLS refuses it', () => {
  assert.equal(isHelloWhole(Buffer.from('GET / HTTP/1.1\r\n')), true);
  assert.equal(isHelloWhole(Buffer.concat([record(hello(600).subarray(0, 10)), Buffer.of(21, 3, 3)])), true);
});
