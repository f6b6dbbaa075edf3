import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { readConfig } from '#config.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { publishLoop } from '../support/looped-publisher.ts';
import { startPostgres } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { runUntilPrinted, runUntilReady, startShell } from '../support/shell.ts';
import { type ShellBlock, shellBlocks } from '../support/shell-blocks.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { dataFolder } from './millrace.ts';

// Runs the commands that README and docs show, as they are there except for what a reader replaces: keys, ids, addresses, files.

const ROOT = join(import.meta.dirname, '../..');
/** Programs that an encoder's block starts with. */
const ENCODER = /^(?:ffmpeg|gst-launch-1\.0)\b/;

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server[Symbol.asyncDispose]());

/** In the repository, with the Node of this test. */
const HERE = { cwd: ROOT, path: `${dirname(process.execPath)}:${process.env.PATH}` };

/** Commands with this in place of what the docs show. */
function replaced(commands: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => result.replaceAll(from, to), commands);
}

async function runsToItsEnd({ commands }: ShellBlock): Promise<void> {
  await using made = await madeFor(commands);
  const { stdout, stderr, code } = await startShell(replaced(asCustomer(commands), made.replacements), withKey()).ended;
  assert.equal(code, 0, stderr);
  if (stdout.startsWith('{')) assert.equal(JSON.parse(stdout).errors, undefined, stdout);
}

interface Made extends AsyncDisposable {
  readonly replacements: Readonly<Record<string, string>>;
}

/** Makes what the placeholders in commands stand for. A reader of the docs has it before running the commands. */
async function madeFor(commands: string): Promise<Made> {
  const only = (replacements: Made['replacements']) => ({ replacements, [Symbol.asyncDispose]: async () => {} });
  if (commands.includes('PLAYBACK_ID')) return await recordStream();
  if (commands.includes('STREAM_ID')) return only({ STREAM_ID: (await server.api.createStream()).id });
  if (commands.includes('$WEBHOOK')) {
    const answer = await server.api.request('POST', '/webhook', {
      name: 'docs',
      url: 'https://shop.example/',
      events: [],
    });
    return only({ $WEBHOOK: ((await answer.json()) as { id: string }).id });
  }
  return only({});
}

/** Records a stream until disposed. It takes the place of the stream in the docs, and its times the place of those in the docs. */
async function recordStream(): Promise<Made> {
  const { playbackId, streamKey } = await server.api.createStream({ record: true });
  await using parts = new AsyncDisposableStack();
  parts.use(await publishLoop(server.rtmpPort, streamKey, { aheadMs: 4000 }));
  const recorded = async () => {
    const answer = await fetch(`${server.url}/hls/${playbackId}/recording.json`);
    if (answer.status !== 200) return undefined;
    const { from, to } = (await answer.json()) as { from: number | null; to: number | null };
    return from !== null && to !== null && to > from ? { from, to } : undefined;
  };
  const { from, to } = await waitFor(recorded, { what: 'something to be recorded' });
  const publishing = parts.move();
  return {
    replacements: { PLAYBACK_ID: playbackId, '1795175107913': `${from}`, '1795175137913': `${to}` },
    [Symbol.asyncDispose]: () => publishing.disposeAsync(),
  };
}

async function runsUntilPrinted(printed: string, { commands }: ShellBlock, secretFile: string): Promise<void> {
  const creates = setInterval(() => void server.api.createStream({ name: 'docs' }), 500);
  try {
    await runUntilPrinted(printed, replaced(asCustomer(commands), { 'webhook-secret': secretFile }), withKey());
  } finally {
    clearInterval(creates);
  }
}

/** Commands for a server that has an API key, as its owner types them. */
function asCustomer(commands: string): string {
  return replaced(commands, { 'http://localhost:8080': server.url, 'KEY=...': `KEY=${server.apiKey}` });
}

function withKey() {
  return { ...HERE, environment: { KEY: server.apiKey } };
}

async function runsUntilLive({ commands }: ShellBlock): Promise<void> {
  const stream = await server.api.createStream({ name: 'docs' });
  const here = {
    'rtmp://localhost': `rtmp://127.0.0.1:${server.rtmpPort}`,
    STREAM_KEY: stream.streamKey,
    // By default rtmp2sink gives up connecting after 5 s, also when the machine stands still.
    'rtmp2sink ': 'rtmp2sink timeout=60 ',
  };
  const encoder = startShell(replaced(commands, here), HERE);
  const isLive = async () => {
    if (encoder.child.exitCode !== null) throw new Error(`it ended: ${(await encoder.ended).stderr}`);
    return (await server.api.getStream(stream.id)).isActive;
  };
  try {
    await waitFor(isLive, { what: 'the stream to be live' });
  } finally {
    await encoder.end('SIGINT');
  }
}

/** Reads settings as systemd and containers do. For them, # begins a comment only at the beginning of a line. */
function isMadeOfSettings({ commands }: ShellBlock): void {
  const lines = commands.split('\n').filter((line) => !line.startsWith('#'));
  const entries = lines.map((line) => line.match(/^(MILLRACE_\w+)=(.*)$/)!.slice(1, 3));
  assert.doesNotThrow(() => readConfig(Object.fromEntries(entries)));
}

for (const block of shellBlocks()) {
  const name = `${block.page}:${block.line}: ${block.commands.split('\n')[0]}`;
  const [, script] = block.how.match(/^by=(.*)$/) ?? [];
  const [, printed] = block.how.match(/^until="(.*)"$/) ?? [];
  const [, reason] = block.how.match(/^not-run="(.*)"$/) ?? [];
  if (script !== undefined) {
    test(name, (t) => {
      assert.ok(existsSync(join(ROOT, script)), `there is no ${script}`);
      t.skip(`${script} runs it`);
    });
  } else if (reason !== undefined) {
    test(name, { skip: reason }, () => {});
  } else if (block.how === 'until=live') {
    test(name, needs(block.commands.match(ENCODER)![0]), () => runsUntilLive(block));
  } else if (block.how === 'until=ready') {
    test(name, async (t) => {
      const dataDir = await dataFolder(t);
      const files = await writeCertificate(dataDir, makeCertificate());
      const replacements: Record<string, string> = {
        '/etc/millrace/tls/fullchain.pem': files.MILLRACE_TLS_CERT,
        '/etc/millrace/tls/privkey.pem': files.MILLRACE_TLS_KEY,
        'MILLRACE_HTTP_PORT=443': 'MILLRACE_HTTP_PORT=0',
      };
      const [databaseUrl] = block.commands.match(/postgres:[^']*/) ?? [];
      if (databaseUrl !== undefined) {
        const postgres = await startPostgres();
        t.after(() => postgres[Symbol.asyncDispose]());
        replacements[databaseUrl] = await postgres.newDatabase();
      }
      const environment = { MILLRACE_DATA_DIR: join(dataDir, 'data') };
      await runUntilReady(replaced(block.commands, replacements), { ...HERE, environment });
    });
  } else if (printed !== undefined) {
    test(name, async (t) => runsUntilPrinted(printed, block, join(await dataFolder(t), 'webhook-secret')));
  } else if (block.how === 'settings') {
    test(name, () => isMadeOfSettings(block));
  } else {
    test(name, () => runsToItsEnd(block));
  }
}
