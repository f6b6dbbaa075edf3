/**
 * A failover: the database's server dies, and the standby to which every commit went as well takes its place.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PostgresPair, startPostgresPair } from '../support/postgres.ts';
import { waitFor } from '../support/wait-for.ts';
import { acknowledge, assertCarriedOut, assertShown, broadcasts } from './acknowledged-changes.ts';
import { cutOffAnnouncements, type ProxiedNodes, startProxiedNodes } from './cluster-nodes.ts';
import { publish, publishSoon } from './recorded-publisher.ts';

/** The pause between two streams that are created. */
const BETWEEN_CALLS_MS = 20;

let pair: PostgresPair;
let cluster: ProxiedNodes;
before(async () => {
  pair = await startPostgresPair();
  cluster = await startProxiedNodes(pair.primary);
});
after(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await pair?.[Symbol.asyncDispose]();
});

test('changes acknowledged right before and right after a failover take effect, and none is lost', async () => {
  await using parts = new AsyncDisposableStack();
  const { owner, other } = cluster;
  const stream = await owner.server.api.createStream();
  const publisher = parts.use(await publishSoon(owner.server.rtmpPort, stream.streamKey));
  const before = await broadcasts(parts, owner.server, other.server);
  const after = await broadcasts(parts, owner.server, other.server);
  const created: string[] = [];
  let isCreating = true;
  const creating = (async () => {
    while (isCreating) {
      const answer = await other.server.api.request('POST', '/stream', { name: 'acknowledged', profiles: [] });
      const body = (await answer.json()) as { id: string };
      if (answer.status === 201) created.push(body.id);
      else assert.ok(answer.status === 503 || answer.status === 504, JSON.stringify(body));
      await sleep(BETWEEN_CALLS_MS);
    }
  })();
  await waitFor(() => created.length > 0, { what: 'a stream to be created' });

  // The owner gets no announcement of the changes before this.
  await cutOffAnnouncements(owner);
  await acknowledge(before, other.server);
  await pair.failOver();
  const createdBefore = created.length;
  for (const { proxy } of [owner, other]) proxy.leadTo(pair.standby.port);
  await acknowledge(after, other.server);
  await waitFor(() => created.length > createdBefore, { what: 'a stream to be created at the standby' });
  isCreating = false;
  await creating;

  for (const changes of [before, after]) {
    await assertCarriedOut(changes, owner.server);
    await assertShown(changes, other.server);
  }
  for (const id of created) await other.server.api.getStream(id);
  assert.equal(publisher.client.isClosed, false);
  const isActive = async () => (await other.server.api.getStream(stream.id)).isActive;
  await waitFor(isActive, { what: 'the broadcast that nobody ended to be shown as active' });
  const refused = await publish(other.server.rtmpPort, stream.streamKey);
  assert.equal(refused, undefined, 'it still has its one publisher');
});
