/**
 * Changes that disconnect a publisher. Each is requested from one server, for a broadcast at another one.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { StreamObject } from '../support/api-client.ts';
import { newCustomer } from '../support/customer.ts';
import type { ServerProcess } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Broadcast, broadcast, CUTS, type Cut, endReason } from './cuts.ts';

/** A change, and the broadcast that it must end. */
export interface Pending {
  readonly cut: Pick<Cut, 'what' | 'request' | 'reason'>;
  readonly live: Broadcast;
}

const SUSPENDED_USER: Pending['cut'] = {
  what: 'suspended with its user',
  request: (api, { userId }) => api.request('PATCH', `/user/${userId}`, { suspended: true }),
  reason: 'suspended',
};

/** A broadcast at the first server for each change to a stream, and one for a change to its user. They end with `parts`. */
export function broadcasts(
  parts: AsyncDisposableStack,
  owner: ServerProcess,
  other: ServerProcess,
): Promise<readonly Pending[]> {
  return Promise.all([
    ...CUTS.map(async (cut) => ({ cut, live: parts.use(await broadcast(owner, other)) })),
    (async () => ({
      cut: SUSPENDED_USER,
      live: parts.use(await broadcast(owner, other, await newCustomer(owner, randomUUID()))),
    }))(),
  ]);
}

/** Requests every change from a server until each is acknowledged. A request is repeated while the store is away. */
export async function acknowledge(changes: readonly Pending[], server: ServerProcess): Promise<void> {
  for (const { cut, live } of changes) {
    let isRepeated = false;
    await waitFor(
      async () => {
        const answer = await cut.request(server.api, live.stream);
        if (answer.status === 503) {
          isRepeated = true;
          return false;
        }
        // The change that was not acknowledged may have been made.
        if (isRepeated && cut.reason === 'deleted' && answer.status === 404) return true;
        assert.ok(answer.ok, `${cut.what}: ${answer.status} ${await answer.text()}`);
        return true;
      },
      { what: `an answer for one ${cut.what}` },
    );
  }
}

/** Waits until every publisher is disconnected for the reason of its change. */
export async function assertCarriedOut(changes: readonly Pending[], owner: ServerProcess): Promise<void> {
  for (const { cut, live } of changes) {
    await waitFor(() => live.client.isClosed, { what: `the publisher of one ${cut.what} to be disconnected` });
    const isEnded = () => endReason(owner, live.stream) === cut.reason;
    await waitFor(isEnded, { what: `the end of one ${cut.what} in the log` });
  }
}

/** Waits until a server shows every change and its effect: no stream is active, and each broadcast was one session. */
export async function assertShown(changes: readonly Pending[], server: ServerProcess): Promise<void> {
  for (const { cut, live } of changes) {
    const { userId, streamKey } = live.stream;
    const answer = await ask(server, live.stream);
    if (cut.reason === 'deleted') {
      assert.equal(answer.status, 404);
      continue;
    }
    assert.equal(answer.status, 200, await answer.clone().text());
    const shown = (await answer.json()) as StreamObject & { suspended: boolean };
    assert.equal(shown.streamKey !== streamKey, cut.reason === 'key_rotated', cut.what);
    assert.equal(shown.suspended, cut.reason === 'suspended' && cut !== SUSPENDED_USER, cut.what);
    const user = (await (await server.api.request('GET', `/user/${userId}`)).json()) as { suspended: boolean };
    assert.equal(user.suspended, cut === SUSPENDED_USER, cut.what);
    const isIdle = async () => ((await (await ask(server, live.stream)).json()) as StreamObject).isActive === false;
    await waitFor(isIdle, { what: `the stream of one ${cut.what} to be idle` });
    const areOver = async () => (await sessionsOf(server, live.stream)).every(({ isActive }) => !isActive);
    await waitFor(areOver, { what: `the session of one ${cut.what} to end` });
    assert.equal((await sessionsOf(server, live.stream)).length, 1, cut.what);
  }
}

/** The sessions of a stream as an admin sees them, newest first. */
export async function sessionsOf(server: ServerProcess, stream: StreamObject): Promise<readonly StreamObject[]> {
  const answer = await ask(server, stream, '/sessions');
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as StreamObject[];
}

/** Requests a stream, or a path below it, as an admin does who names its user. */
const ask = (server: ServerProcess, { id, userId }: StreamObject, below = '') =>
  server.api.request('GET', `/stream/${id}${below}?userId=${userId}`);
