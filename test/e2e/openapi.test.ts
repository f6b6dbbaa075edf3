/**
 * Checks the OpenAPI document with the tools of its users: two linters find nothing, and the clients that two generators make of it compile
 * under `strict` and work. The tools are in `test/openapi`, apart from the dependencies of the repository, and are installed at the first run.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { startApi, type TestApi } from '../api/server.ts';

const TOOLS = join(import.meta.dirname, '../openapi');
const TSC = join(import.meta.dirname, '../../node_modules/.bin/tsc');

/** Runs a program in the folder of the tools. Fails the test, with all that the program printed, when it fails. */
async function run(program: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', NO_COLOR: '1' };
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: TOOLS, env });
    return stdout + stderr;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`, { cause: error });
  }
}

const tool = (name: string, ...args: readonly string[]) => run(join(TOOLS, 'node_modules/.bin', name), ...args);

suite('the OpenAPI document', () => {
  const parts = new AsyncDisposableStack();
  let api: TestApi;
  /** A folder for what is made, and the document in it. */
  let folder: string;
  let document: string;

  before(async () => {
    if (!existsSync(join(TOOLS, 'node_modules/.package-lock.json')))
      await run('npm', 'ci', '--prefer-offline', '--no-audit');
    folder = await mkdtemp(join(tmpdir(), 'millrace-openapi-'));
    parts.defer(() => rm(folder, { recursive: true }));
    api = await startApi({ after: (close) => parts.defer(close) });
    document = join(folder, 'openapi.json');
    await writeFile(document, (await api.call('GET', '/openapi.json')).body);
  });
  after(() => parts.disposeAsync());

  test('is clean to Redocly and to Spectral', async () => {
    assert.match(await tool('redocly', 'lint', '--config', 'redocly.yaml', document), /Your API description is valid/);
    const spectral = ['lint', '--ruleset', 'spectral.yaml', '--fail-severity', 'hint', document];
    assert.match(await tool('spectral', ...spectral), /No results/);
  });

  test('becomes, by two generators, clients that compile under strict and work', async () => {
    await tool('openapi-typescript', document, '--output', join(folder, 'generated/types.ts'));
    await tool('openapi-ts', '--input', document, '--output', join(folder, 'generated/client'), '--silent');
    for (const file of ['use-types.ts', 'use-client.ts', 'tsconfig.json', 'package.json']) {
      await copyFile(join(TOOLS, file), join(folder, file));
    }
    await run(TSC, '-p', folder);
    const { createAndRead } = await import(pathToFileURL(join(folder, 'built/use-client.js')).href);
    const baseUrl = `${await api.http.listen({ host: '127.0.0.1', port: 0 })}/api`;
    const { secret } = await api.makeKey('ann');
    const { created, read, code, ingest } = await createAndRead(baseUrl, secret);
    assert.deepEqual(read, created);
    assert.equal(created.name, 'made by a generated client');
    assert.equal(code, 'not_found');
    assert.match(ingest[0].ingest, /^rtmp:/);
  });
});
