import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { silentLogger } from '#telemetry/logger.ts';
import { someReceipt, someStream, someUser } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { EventSequencer } from './event-sequencer.ts';
import { openStore } from './open-store.ts';

it('numbers events that a command beside the server has stored in SQLite, and announces them', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-sequencer-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  await using store = await openStore({ dataDir, exclusive: true, logger: silentLogger });
  let announced = 0;
  using _listening = store.listen(({ type }) => {
    if (type === 'events_added') announced += 1;
  });
  await using _ = new EventSequencer({ store, logger: silentLogger });
  const user = await store.users.ensure(someUser());
  {
    await using command = await openStore({ dataDir, exclusive: false, logger: silentLogger });
    await command.streams.create(someStream(user.id), someReceipt());
  }
  await waitFor(async () => (await store.events.last()) === 1, { what: 'the event to be numbered' });
  await waitFor(() => announced > 0, { what: 'the event to be announced' });
});
