import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { readConfig } from '#config.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { startPostgres } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { runUntilPrinted, runUntilReady, startShell } from '../support/shell.ts';
import { type ShellBlock, shellBlocks } from '../support/shell-blocks.ts';
import { needs } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { dataFolder } from './millrace.ts';

// Runs the commands that README and docs show, as they are there but for what a reader replaces: keys, addresses, files.

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
  const { stdout, stderr, code } = await startShell(asCustomer(commands), withKey()).ended;
  assert.equal(code, 0, stderr);
  if (stdout.startsWith('{')) assert.equal(JSON.parse(stdout).errors, undefined, stdout);
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
  const here = { 'rtmp://localhost': `rtmp://127.0.0.1:${server.rtmpPort}`, STREAM_KEY: stream.streamKey };
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
