/**
 * Tests a server whose clock is wrong when it starts. To the server, a last run long ago looks the same as a clock that is far ahead.
 */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { StreamId } from '#domain/ids.ts';
import { DAY_MS, ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someSession } from '../support/sample-records.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';

test('data does not expire by a clock that is weeks ahead at the start, and the doctor and the log say so', async () => {
  await using folder = await temporaryFolder();
  const dataDir = folder.path;
  const settings = { MILLRACE_SESSION_RETENTION_DAYS: '1' };
  let apiKey = '';
  let streamId = '';
  {
    await using server = await startServer({ dataDir, settings });
    apiKey = server.apiKey;
    streamId = (await server.api.createStream({ profiles: [] })).id;
  }
  const lastTime = join(dataDir, 'last-time');
  const session = await (async () => {
    await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
    const stream = (await store.streams.get(streamId as StreamId, 'everyone'))!;
    const endedAt = ms(Date.now() - 5 * DAY_MS);
    const old = someSession(stream, { createdAt: endedAt, lastSeen: endedAt, record: false, recordingPath: undefined });
    await store.sessions.create(old);
    await store.sessions.change(old.id, { phase: 'ended', endedAt, endReason: 'unpublished' });
    return old;
  })();
  const ask = (url: string, path: string) =>
    fetch(`${url}/api${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
  await writeFile(lastTime, new Date(Date.now() - 30 * DAY_MS).toISOString());
  {
    await using server = await startServer({ dataDir, settings, apiKey });
    assert.ok(server.logLines.some((line) => line.includes('the clock is ahead of what it was before')));
    const { checks } = (await (await ask(server.url, '/admin/doctor')).json()) as {
      checks: { id: string; state: string; message: string }[];
    };
    const clock = checks.find(({ id }) => id === 'clock');
    assert.equal(clock?.state, 'problem');
    assert.match(clock.message, /30\.0 days ahead/);
    assert.equal((await ask(server.url, `/session/${session.id}`)).status, 200);
    await rm(lastTime);
  }
  await using server = await startServer({ dataDir, settings, apiKey });
  await waitFor(async () => (await ask(server.url, `/session/${session.id}`)).status === 404, {
    what: 'the session to expire',
  });
});
