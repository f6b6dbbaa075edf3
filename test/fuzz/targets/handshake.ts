/**
 * The handshake of RTMP, whose bytes come in slices.
 */
import assert from 'node:assert/strict';
import { HANDSHAKE_BYTES, ServerHandshake } from '#media/rtmp/handshake.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import { slices } from '../slices.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

const WHOLE = Buffer.alloc(1 + 1 + 2 * HANDSHAKE_BYTES, 7)
  .fill(3, 1, 2)
  .fill(64, 0, 1);

/** However its bytes are cut, the handshake takes exactly its own bytes and answers once. */
export const handshakeTarget: Target = {
  name: 'handshake',
  corpus: [WHOLE, WHOLE.subarray(0, 1000)],
  maxBytes: 4096,
  expected: [RtmpError],
  open: () => ({
    read(input) {
      const handshake = new ServerHandshake();
      let taken = 0;
      let replies = 0;
      for (const slice of slices(input)) {
        const { used, reply } = handshake.feed(slice);
        must(used <= slice.length, () => 'more was taken than there was');
        taken += used;
        if (reply !== undefined) replies += 1;
      }
      assert.equal(taken, Math.min(Math.max(0, input.length - 1), 1 + 2 * HANDSHAKE_BYTES));
      assert.equal(replies, taken > HANDSHAKE_BYTES ? 1 : 0, 'replies');
      assert.equal(handshake.isDone, taken === 1 + 2 * HANDSHAKE_BYTES);
      return behaviour(magnitude(taken), replies);
    },
  }),
};
