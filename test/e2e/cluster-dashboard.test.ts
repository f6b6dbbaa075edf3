/**
 * What the dashboard reads, at a server that is not the one where it happened.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
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

    const nodes = await get<{ isThis: boolean; isAlive: boolean; load?: object }[]>(there, '/admin/nodes');
    const described = nodes.map(({ isThis, isAlive, load }) => `${isThis} ${isAlive} ${load !== undefined}`);
    assert.deepEqual(new Set(described), new Set(['false true false', 'true true true']));

    const path = `/stream/${stream.id}/test-picture`;
    assert.equal((await here.api.request('POST', path)).status, 200);
    await waitFor(async () => (await get<object[]>(there, `/stream/${stream.id}/sessions`)).length === 1, {
      what: 'the session',
    });
    assert.equal((await there.api.request('POST', path)).status, 409, 'the other server has the stream');
    assert.equal((await there.api.request('DELETE', path)).status, 204);
    await waitFor(async () => !(await there.api.getStream(stream.id)).isActive, { what: 'the end' });
    const [session] = await get<{ id: string }[]>(there, `/stream/${stream.id}/sessions`);
    await here.stop();
    const samples = await get<{ step: number; samples: object[] }>(there, `/session/${session!.id}/samples`);
    assert.equal(samples.step, 60);
    const usage = await get<{ ingestBytes: number }[]>(there, '/data/usage');
    assert.ok(usage[0]!.ingestBytes > 10_000, 'what the other server counted was written when it stopped');
  });
});
