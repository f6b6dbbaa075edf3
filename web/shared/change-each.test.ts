import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeEach } from './change-each.ts';
import type { ApiChange } from './curl.ts';
import { ApiError } from './errors.ts';

const CHANGES = ['a', 'b', 'c', 'd'].map((id): ApiChange => ['DELETE', `/stream/${id}`]);
const [A, B, C, D] = CHANGES as [ApiChange, ApiChange, ApiChange, ApiChange];

/** Sends all, of which some are answered with an error. */
async function sendWith(errors: ReadonlyMap<ApiChange, number>) {
  const sent: ApiChange[] = [];
  const changed = await changeEach(CHANGES, async (change) => {
    sent.push(change);
    const status = errors.get(change);
    if (status !== undefined) throw new ApiError(status, 'code', `answer ${status}`);
  });
  return { ...changed, sent, error: (changed.error as Error | undefined)?.message };
}

test('a change of something that no longer exists is no failure, and the others are sent', async () => {
  assert.deepEqual(await sendWith(new Map([[B, 404]])), { sent: CHANGES, done: [A, C, D], left: [], error: undefined });
});

test('a change that is refused is left, and the others are sent', async () => {
  const refused = new Map([
    [A, 403],
    [C, 409],
  ]);
  assert.deepEqual(await sendWith(refused), { sent: CHANGES, done: [B, D], left: [A, C], error: 'answer 403' });
});

test('when the server does not answer or limits requests, the rest is not sent', async () => {
  for (const status of [0, 401, 429, 503]) {
    const answer = await sendWith(new Map([[B, status]]));
    assert.deepEqual(answer, { sent: [A, B], done: [A], left: [B, C, D], error: `answer ${status}` });
  }
});
