/**
 * The records of a TLS client before its handshake begins, which come in slices.
 */
import assert from 'node:assert/strict';
import { isHelloComplete } from '#http/client-hello.ts';
import { slices } from '../slices.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

const HANDSHAKE = 22;
const RECORD_HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;

const record = (...payload: readonly number[]): Buffer => Buffer.from([HANDSHAKE, 3, 1, 0, payload.length, ...payload]);
/** An input whose bytes come in slices of this size. */
const cut = (size: number, ...parts: readonly Buffer[]): Buffer => Buffer.concat([Buffer.of(size), ...parts]);
const message = (length: number): number[] => [1, 0, 0, length, ...Array<number>(length).fill(7)];

/** Whether a ClientHello is complete, found out in the simple way: from a copy of the whole message. */
function isCompleteInCopy(bytes: Buffer): boolean {
  const fragments: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE) return true;
    const from = at + RECORD_HEADER_BYTES;
    if (from > bytes.length) break;
    at = from + bytes.readUInt16BE(from - 2);
    fragments.push(bytes.subarray(from, at));
  }
  const sent = Buffer.concat(fragments);
  return sent.length >= MESSAGE_HEADER_BYTES && sent.length >= MESSAGE_HEADER_BYTES + sent.readUIntBE(1, 3);
}

/** However its bytes are cut, a ClientHello is complete at the same byte, and stays complete whatever follows. */
export const clientHelloTarget: Target = {
  name: 'client-hello',
  // The first byte of each input is the size of its slices; 0 leaves it whole.
  corpus: [
    cut(0, record(...message(40))),
    cut(3, record(1), record(), record(0, 0), record(9, ...Array<number>(9).fill(7))),
    cut(200, ...Array.from({ length: 100 }, () => record())),
    cut(0, Buffer.from('GET / HTTP/1.1\r\n')),
  ],
  dictionary: [record(), record(1), Buffer.of(HANDSHAKE, 3, 1), Buffer.of(0xff, 0xff, 0xff)],
  open: () => ({
    read(input) {
      let sent = 0;
      let wasComplete = false;
      for (const slice of slices(input)) {
        sent += slice.length;
        const isComplete = isHelloComplete(input.subarray(1, 1 + sent));
        must(isComplete || !wasComplete, () => `${sent} bytes are not complete, but fewer were`);
        wasComplete = isComplete;
      }
      assert.equal(wasComplete, isCompleteInCopy(input.subarray(1)));
      return behaviour(magnitude(sent), Number(wasComplete));
    },
  }),
};
