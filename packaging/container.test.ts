/**
 * Builds the image of `deploy/Containerfile` and runs it as docs/13-containers.md shows: read-only, without capabilities, as a user of
 * its own. Run by `npm run test:installs`.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ApiClient } from '#test/support/api-client.ts';
import { freePort } from '#test/support/free-port.ts';
import { startPublisher } from '#test/support/publisher.ts';
import { blocksRunBy } from '#test/support/shell-blocks.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { needsContainers, Podman } from './podman.ts';

const BASE = 'localhost/base';
const IMAGE = 'localhost/millrace';
const PROFILE = { name: '240p', width: 426, height: 240, fps: 0, bitrate: 300_000 };

/** Splits a command of the docs into words. It may continue on further lines, but have no quotes. */
function words(command: string): string[] {
  return command
    .replaceAll('\\\n', ' ')
    .split(' ')
    .filter((word) => word !== '');
}

describe('the container', needsContainers(), () => {
  let podman: Podman;
  let http: string;
  let settings: string[];
  let api: ApiClient;
  let rtmp: string;
  const [buildCommand, runCommand, showKey, backUp, restore] = blocksRunBy('packaging/container.test.ts').map(
    ({ commands }) => commands,
  );

  before(async () => {
    podman = await Podman.start();
    await podman.buildBase(BASE);
    const [, , ...options] = words(buildCommand!);
    const file = options[options.indexOf('-f') + 1]!;
    assert.equal(options.at(-1), '.');
    await podman.build(file, IMAGE, '.', '--build-arg', `BASE=${BASE}`);
    const ports = [await freePort(), await freePort()];
    [http, rtmp] = [`http://127.0.0.1:${ports[0]}`, `rtmp://127.0.0.1:${ports[1]}/live`];
    settings = [
      'HTTP_HOST=127.0.0.1',
      'RTMP_HOST=127.0.0.1',
      `HTTP_PORT=${ports[0]}`,
      `RTMP_PORT=${ports[1]}`,
      'METRICS_PORT=0',
    ].flatMap((setting) => ['--env', `MILLRACE_${setting}`]);
  });
  after(() => podman?.[Symbol.asyncDispose]());

  const isHealthy = () =>
    podman.run('healthcheck', 'run', 'millrace').then(
      () => true,
      () => false,
    );

  /** Starts the container as the docs show, except for the network: ports of the loopback interface in place of published ones. */
  async function start(): Promise<void> {
    const [, , ...options] = words(runCommand!);
    const hardening = options.slice(options.indexOf('--read-only'), options.indexOf('--publish'));
    const volume = options.slice(options.indexOf('--volume'), options.indexOf('--volume') + 2);
    assert.deepEqual(hardening, ['--read-only', '--cap-drop', 'all', '--security-opt', 'no-new-privileges']);
    await podman.start(
      'millrace',
      IMAGE,
      '--network',
      'host',
      '--read-only-tmpfs=false',
      ...hardening,
      ...volume,
      ...settings,
    );
    await waitFor(isHealthy, { what: 'the container to be healthy' });
  }

  it('is healthy, read-only, and not root', async () => {
    await start();
    assert.equal((await fetch(`${http}/healthz`)).status, 200);
    const { stdout } = await podman.script(
      'millrace',
      'id -u; for f in /opt/millrace /tmp /; do touch $f/x 2>/dev/null && echo $f; done; true',
    );
    assert.equal(stdout, '10001\n');
    const { stdout: key } = await podman.run(...words(showKey!.match(/podman (exec .*?) +#/)![1]!));
    api = new ApiClient(`${http}/api`, key.trim());
  });

  it('transcodes, and drains on SIGTERM while a publisher is live', async () => {
    const { id, streamKey, playbackId } = await api.createStream({ name: 'kept', profiles: [PROFILE] });
    await using publisher = await startPublisher({ url: `${rtmp}/${streamKey}` });
    await waitFor(async () => (await api.getStream(id)).isActive, { what: 'the stream to be live' });
    const playlist = await (await fetch(`${http}/hls/${playbackId}/index.m3u8`)).text();
    assert.match(playlist, /240p\.m3u8/);
    await podman.run('stop', '--time', '20', 'millrace');
    const { stdout } = await podman.run('inspect', '--format', '{{.State.ExitCode}}', 'millrace');
    assert.equal(stdout.trim(), '0');
    await publisher.ended;
  });

  it('keeps its data in the volume when it is replaced by a new container', async () => {
    await podman.run('rm', 'millrace');
    await start();
    const { stdout } = await podman.run('exec', 'millrace', 'node', 'bin/millrace.js', 'keys', 'list');
    assert.match(stdout, /admin +default/);
    assert.ok(await fetch(`${http}/api/stream`).then(({ status }) => status === 401));
  });

  it('is backed up while it runs, and restored by another container', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-backup-'));
    const run = async (block: string) => {
      for (const line of block.replaceAll('/root/', `${folder}/`).split('\n')) {
        const [program, ...args] = words(line);
        assert.equal(program, 'podman');
        await (args[0] === 'run' ? podman.once(...args.slice(1)) : podman.run(...args));
      }
    };
    try {
      const { id } = await api.createStream({ name: 'in the backup' });
      await run(backUp!);
      const { id: later } = await api.createStream({ name: 'made later' });
      await run(restore!);
      await waitFor(isHealthy, { what: 'the container to be healthy' });
      assert.equal((await api.request('GET', `/stream/${id}`)).status, 200);
      assert.equal((await api.request('GET', `/stream/${later}`)).status, 404);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('reports in its health check that nothing answers', async () => {
    await assert.rejects(
      podman.run('exec', '--env', 'MILLRACE_HTTP_PORT=1', 'millrace', 'node', 'deploy/healthcheck.js'),
      /does not answer/,
    );
  });
});
