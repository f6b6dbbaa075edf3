import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HANDSHAKE_BYTES, ServerHandshake } from './handshake.ts';

const C1 = Buffer.alloc(HANDSHAKE_BYTES, 0x5a);

describe('the handshake', () => {
  it('answers C1 with its echo and a version of zero, then takes C2, in any slices', () => {
    const sent = Buffer.concat([Buffer.of(3), C1, Buffer.alloc(HANDSHAKE_BYTES), Buffer.from('chunks')]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2000 }), { minLength: 1, maxLength: 20 }), (sizes) => {
        const handshake = new ServerHandshake();
        const replies: Buffer[] = [];
        let at = 0;
        for (let index = 0; !handshake.isDone; index++) {
          const { used, reply } = handshake.feed(sent.subarray(at, at + sizes[index % sizes.length]!));
          if (reply !== undefined) replies.push(reply);
          at += used;
        }
        assert.equal(sent.subarray(at).toString(), 'chunks');
        const reply = Buffer.concat(replies);
        assert.equal(reply.length, 1 + 2 * HANDSHAKE_BYTES);
        assert.equal(reply[0], 3);
        // Clients that prefer the digest handshake see a server version of zero and fall back.
        assert.deepEqual(reply.subarray(1, 9), Buffer.alloc(8));
        assert.deepEqual(reply.subarray(1 + HANDSHAKE_BYTES), C1);
      }),
    );
  });

  it('accepts the opening of a digest handshake like any other', () => {
    const handshake = new ServerHandshake();
    const opening = Buffer.concat([Buffer.of(3), C1]);
    opening.writeUInt32BE(0x80000702, 5); // the version a digest client states
    assert.notEqual(handshake.feed(opening).reply, undefined);
  });

  it('refuses HTTP, TLS and RTMPE at the first byte', () => {
    for (const first of ['G', '\x16', '\x06', '\x00']) {
      const opening = Buffer.from(first);
      assert.throws(() => new ServerHandshake().feed(opening), { name: 'RtmpError', code: 'handshake_invalid' });
    }
  });
});
