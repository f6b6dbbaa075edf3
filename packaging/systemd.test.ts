/**
 * Runs the steps of "As a systemd service" in docs/9-tls-and-deployment.md under a real systemd, in a container. Run by
 * `npm run test:installs`.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { blocksRunBy } from '#test/support/shell-blocks.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { needsContainers, Podman } from './podman.ts';

const ROOT = join(import.meta.dirname, '..');
const IMAGE = 'localhost/systemd';
const HOST = 'host';
/** A program that sends a request to the API. Its arguments are the API key, the method, the path and the body. */
const CALL = `
const [key, method, path, body] = process.argv.slice(1);
const headers = { authorization: "Bearer " + key, "content-type": "application/json" };
const answer = await fetch("http://127.0.0.1:8080/api" + path, { method, headers, body });
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.text());`;
/** Removes the lines of earlier starts from the journal, so that {@link READY} is about the next one. */
const FORGET = 'journalctl --rotate --vacuum-time=1s';
const READY = `journalctl --unit millrace --output cat | grep --quiet '"msg":"ready"'`;

describe('the systemd unit', needsContainers(), () => {
  let podman: Podman;
  let repository: string;
  const [install, showKey, listKeys, backUp, restore, mountDisk, upgrade] = blocksRunBy(
    'packaging/systemd.test.ts',
  ).map(({ commands }) => commands);

  const commands = listKeys!.replace('--pty', '--pipe');
  let apiKey: string;

  before(async () => {
    repository = await mkdtemp(join(tmpdir(), 'millrace-repository-'));
    await promisify(execFile)('git', ['clone', '--quiet', '--bare', ROOT, repository]);
    podman = await Podman.start();
    await podman.buildBase(IMAGE, ['systemd', 'dbus', 'git']);
    // systemd makes namespaces and mounts for the unit, which needs privileges.
    const options = ['--privileged', '--systemd=always', '--volume', `${repository}:/repository:ro`];
    await podman.start(HOST, IMAGE, ...options, '--entrypoint', '["/lib/systemd/systemd"]');
    const isUp = () =>
      podman.script(HOST, 'systemctl is-system-running').then(
        () => true,
        () => false,
      );
    await waitFor(isUp, { what: 'systemd to have started' });
  });
  after(async () => {
    await podman?.[Symbol.asyncDispose]();
    if (repository !== undefined) await rm(repository, { recursive: true });
  });

  const isReady = () =>
    podman.script(HOST, READY).then(
      () => true,
      () => false,
    );

  it('starts the server at the first attempt', async () => {
    // Without this, git refuses the repository, because it belongs to another user.
    await podman.script(
      HOST,
      `git config --system --add safe.directory '*'; ${install!.replace('<this repository>', '/repository')}`,
    );
    await waitFor(isReady, { what: 'the server to be ready', timeoutMs: 120_000 });
    const { stdout } = await podman.script(HOST, 'systemctl show --property NRestarts --property ActiveState millrace');
    assert.deepEqual(stdout.trim().split('\n').toSorted(), ['ActiveState=active', 'NRestarts=0']);
    apiKey = (await podman.script(HOST, showKey!)).stdout.trim();
    assert.match(apiKey, /^millrace_/);
  });

  it('runs commands beside the service', async () => {
    const { stdout } = await podman.script(HOST, commands);
    assert.match(stdout, /admin +default/);
    const backedUp = await podman.script(HOST, `${commands}\n${backUp}\nls -l /root/before-upgrade.db`);
    assert.match(backedUp.stdout, /Wrote .*^-rw-------/ms);
  });

  it('gets a backup back that another user has brought', async () => {
    await podman.script(HOST, 'chown root:root /root/before-upgrade.db');
    const { stdout } = await podman.script(HOST, `${commands}\n${FORGET}\n${restore}`);
    assert.match(stdout, /^Restored /m);
    await waitFor(isReady, { what: 'the server to be ready with the backup', timeoutMs: 120_000 });
  });

  it('records on a disk of their own, where commands can repair and delete', async () => {
    // As after an upgrade, before the first start of the unit with this folder.
    await podman.script(
      HOST,
      'systemctl stop millrace; rm -rf /var/lib/private/millrace-recordings /var/lib/millrace-recordings',
    );
    // What a new disk has: a root folder of root's that others may not write.
    await podman.script(HOST, `${FORGET}\n${mountDisk!.replace('/dev/sdb1', '-t tmpfs -o mode=0755 disk')}`);
    await waitFor(isReady, { what: 'the server to be ready with the disk', timeoutMs: 120_000 });
    const call = (method: string, path: string, body?: object) =>
      podman.script(
        HOST,
        `node --input-type=module -e '${CALL}' ${apiKey} ${method} ${path} '${JSON.stringify(body ?? {})}'`,
      );
    const { id } = JSON.parse((await call('POST', '/stream', { name: 'kept', record: true, profiles: [] })).stdout) as {
      id: string;
    };
    await call('POST', `/stream/${id}/test-picture`);
    const isRecorded = () =>
      podman.script(HOST, 'ls /var/lib/private/millrace-recordings/*/source.0.mp4').then(
        () => true,
        () => false,
      );
    await waitFor(isRecorded, { what: 'a recording on the disk', timeoutMs: 120_000 });
    const left = `/var/lib/private/millrace-recordings/${'0'.repeat(16)}`;
    await podman.script(
      HOST,
      `mkdir ${left}; chown --reference=/var/lib/private/millrace-recordings ${left}; touch --date='3 days ago' ${left}`,
    );
    const checked = await podman.script(HOST, `${commands.replace('keys list', 'recordings check --delete')}`);
    assert.match(checked.stdout, /: the store did not have it; deleted\.$/m);
    await podman.script(HOST, `test ! -e ${left}`);
  });

  it('is upgraded by a restart, and drains when it is stopped', async () => {
    await podman.script(HOST, `${FORGET}; ${upgrade}`);
    await waitFor(isReady, { what: 'the server to be ready again', timeoutMs: 120_000 });
    await podman.script(HOST, 'systemctl stop millrace');
    const { stdout } = await podman.script(HOST, 'systemctl show --property Result --property ExecMainStatus millrace');
    assert.deepEqual(stdout.trim().split('\n').toSorted(), ['ExecMainStatus=0', 'Result=success']);
  });
});
