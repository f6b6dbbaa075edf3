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
const READY = `journalctl --unit millrace --output cat | grep --quiet '"msg":"ready"'`;

describe('the systemd unit', needsContainers(), () => {
  let podman: Podman;
  let repository: string;
  const [install, showKey, listKeys, backUp, upgrade] = blocksRunBy('packaging/systemd.test.ts').map(
    ({ commands }) => commands,
  );

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
    assert.match((await podman.script(HOST, showKey!)).stdout, /^millrace_/);
  });

  it('runs commands beside the service', async () => {
    const commands = listKeys!.replace('--pty', '--pipe');
    const { stdout } = await podman.script(HOST, commands);
    assert.match(stdout, /admin +default/);
    const backedUp = await podman.script(HOST, `${commands}\n${backUp}\nls -l /root/before-upgrade.db`);
    assert.match(backedUp.stdout, /Wrote .*^-rw-------/ms);
  });

  it('is upgraded by a restart, and drains when it is stopped', async () => {
    await podman.script(HOST, `journalctl --rotate --vacuum-time=1s; ${upgrade}`);
    await waitFor(isReady, { what: 'the server to be ready again', timeoutMs: 120_000 });
    await podman.script(HOST, 'systemctl stop millrace');
    const { stdout } = await podman.script(HOST, 'systemctl show --property Result --property ExecMainStatus millrace');
    assert.deepEqual(stdout.trim().split('\n').toSorted(), ['ExecMainStatus=0', 'Result=success']);
  });
});
