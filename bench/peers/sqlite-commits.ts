/** Peer: SQLite alone, with one durable commit for each row, as fast as one thread can. It answers with its commits per second. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

process.once('message', ({ folder, seconds }: { folder: string; seconds: number }) => {
  const database = new DatabaseSync(join(folder, 'peer.db'));
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS row (id TEXT PRIMARY KEY, body TEXT)',
  );
  const insert = database.prepare('INSERT INTO row VALUES (?, ?)');
  const body = 'x'.repeat(300);
  const started = performance.now();
  let commits = 0;
  while (performance.now() - started < seconds * 1000) {
    insert.run(crypto.randomUUID(), body);
    commits += 1;
  }
  const perSecond = (commits * 1000) / (performance.now() - started);
  database.close();
  process.send?.(perSecond);
});
process.once('disconnect', () => process.exit());
