/**
 * What the dashboard reads, at a server that is not the one where it happened.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { RtmpClient, RtmpRefusedError } from '../support/rtmp-client.ts';
import { startServerProcess, type TestServer } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const get = async <Answer>(server: TestServer, path: string): Promise<Answer> => {
  const response = await server.api.request('GET', path);
  assert.equal(response.status, 200, path);
  return (await response.json()) as Answer;
};

suite('two servers on one PostgreSQL', () => {
  let postgres: PostgresServer;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres[Symbol.asyncDispose]());

  test('both know of refused encoders, nodes and samples, and either stops a test picture', async () => {
    const settings = { MILLRACE_DATABASE_URL: await postgres.newDatabase() };
    await using here = await startServerProcess({ settings });
    await using there = await startServerProcess({ settings, apiKey: here.apiKey });
    const stream = await here.api.createStream({ name: 'show', profiles: [] });

    await assert.rejects(RtmpClient.publish(here.rtmpPort, stream.playbackId), RtmpRefusedError);
    await waitFor(
      async () => {
        const attempts = await get<{ reason: string; streamId?: string }[]>(there, '/attempt');
        return attempts.some(({ reason, streamId }) => reason === 'key_is_playback_id' && streamId === stream.id);
      },
      { what: 'the attempt at the other server' },
    );
    const events = () => get<{ type: string }[]>(there, '/event?type=publish.refused');
    await waitFor(async () => (await events()).length === 1, { what: 'the event' });

    const areKnown = async () => {
      const nodes = await get<{ isThis: boolean; isAlive: boolean; load?: object }[]>(there, '/admin/nodes');
      const described = nodes.map(({ isThis, isAlive, load }) => `${isThis} ${isAlive} ${load !== undefined}`);
      return isDeepStrictEqual(new Set(described), new Set(['false true false', 'true true true']));
    };
    // A server that stood still for a few seconds counts as dead for a moment.
    await waitFor(areKnown, { what: 'both nodes to be alive, the own one with its load' });

    const path = `/stream/${stream.id}/test-picture`;
    const sessions = () => get<{ id: string; isActive: boolean }[]>(there, `/stream/${stream.id}/sessions`);
    const isRefused = async () => {
      if ((await here.api.request('POST', path)).status !== 200) return false;
      const isActive = async () => (await sessions()).some((each) => each.isActive);
      await waitFor(isActive, { what: 'the session' });
      // The other server has the stream, unless it stood still for so long that its test picture counted as silent. Then this is repeated.
      if ((await there.api.request('POST', path)).status === 409) return true;
      assert.equal((await there.api.request('DELETE', path)).status, 204);
      return false;
    };
    await waitFor(isRefused, { what: 'a refusal because the other server has the stream' });
    assert.equal((await there.api.request('DELETE', path)).status, 204);
    await waitFor(async () => !(await there.api.getStream(stream.id)).isActive, { what: 'the end' });
    const [session] = await sessions();
    await here.stop();
    const samples = await get<{ step: number; samples: object[] }>(there, `/session/${session!.id}/samples`);
    assert.equal(samples.step, 60);
    const usage = await get<{ ingestBytes: number }[]>(there, '/data/usage');
    assert.ok(usage[0]!.ingestBytes > 10_000, 'what the other server counted was written when it stopped');
  });
});
