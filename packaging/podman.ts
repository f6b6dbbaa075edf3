/**
 * Podman for the tests of this folder: with images and containers of its own, on a base made of Debian's packages, so that nothing is
 * taken from a registry of images and nothing of the user's is touched. Needs root, `podman`, `buildah`, `runc` and `mmdebstrap`.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { needs } from '#test/support/tools.ts';

const ROOT = join(import.meta.dirname, '..');
const DEBIAN = 'bookworm';
/** Containers may not raise these limits above the host's, which Podman tries by default. */
const LIMITS = ['--ulimit', 'nofile=1024:4096', '--ulimit', 'nproc=4096:4096'];
/** The seconds after which a container ends by itself. A test process that is killed cannot end its containers. */
const LONGEST_S = 30 * 60;
/** In a sandbox, a private network for each step of a build is often not possible. */
const BUILD = ['--isolation', 'chroot', '--network', 'host'];
/** Certificate authorities that this machine adds, and that npm in a container needs as well. */
const AUTHORITIES = process.env.NODE_EXTRA_CA_CERTS;
const AUTHORITIES_INSIDE = '/etc/authorities.pem';

/** Options of a test that needs containers: skips it with the reason where they are not available. */
export function needsContainers(): { readonly skip: string | false } {
  if (process.platform !== 'linux') return { skip: 'containers are tested on Linux only' };
  if (process.geteuid?.() !== 0) return { skip: 'only root can make a base image of Debian packages' };
  const missing = ['podman', 'runc', 'mmdebstrap'].map(needs).find(({ skip }) => skip !== false);
  return missing ?? { skip: false };
}

/** What a command printed. */
interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** A Podman of the test's own. Disposing it removes its images, containers and volumes. */
export class Podman implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(): Promise<Podman> {
    return new Podman(await mkdtemp(join(tmpdir(), 'millrace-podman-')));
  }

  /** Runs `podman`. @throws when it ends with another code than 0 */
  run(...args: readonly string[]): Promise<Printed> {
    const own = ['--root', join(this.#folder, 'images'), '--runroot', join(this.#folder, 'run'), '--runtime', 'runc'];
    return promisify(execFile)('podman', [...own, ...args], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  }

  /** Builds an image. */
  build(file: string, image: string, context: string, ...options: readonly string[]): Promise<Printed> {
    return this.run('build', ...BUILD, '--format', 'docker', '--file', file, '--tag', image, ...options, context);
  }

  /** Starts a container in the background. */
  start(name: string, image: string, ...options: readonly string[]): Promise<Printed> {
    return this.run('run', '--detach', '--name', name, '--timeout', `${LONGEST_S}`, ...LIMITS, ...options, image);
  }

  /** Runs a container until it ends. @param args what comes after `podman run` */
  once(...args: readonly string[]): Promise<Printed> {
    return this.run('run', '--timeout', `${LONGEST_S}`, ...LIMITS, '--network', 'host', ...args);
  }

  /** Runs a shell script in a container. */
  script(container: string, script: string): Promise<Printed> {
    return this.run('exec', container, 'bash', '-euc', script);
  }

  /**
   * Makes an image of Debian with this clone's Node and the system's npm, in place of the official image of Node.
   * @param packages of Debian, besides what Node needs
   */
  async buildBase(image: string, packages: readonly string[] = []): Promise<void> {
    const context = await mkdtemp(join(this.#folder, 'base-'));
    const include = ['libatomic1', 'libstdc++6', ...packages].join(',');
    await promisify(execFile)(
      'mmdebstrap',
      ['--variant=minbase', `--include=${include}`, DEBIAN, join(context, 'debian.tar')],
      {
        maxBuffer: 64 * 1024 * 1024,
      },
    );
    const { stdout: npm } = await promisify(execFile)('which', ['npm']);
    await cp(dirname(dirname(await realpath(npm.trim()))), join(context, 'npm'), { recursive: true });
    await cp(process.execPath, join(context, 'node'));
    await mkdir(join(context, 'etc'));
    if (AUTHORITIES !== undefined) await cp(AUTHORITIES, join(context, 'etc/authorities.pem'), { dereference: true });
    await writeFile(join(context, 'etc/npmrc'), AUTHORITIES === undefined ? '' : `cafile=${AUTHORITIES_INSIDE}\n`);
    const lines = [
      'FROM scratch',
      'ADD debian.tar /',
      'COPY node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
      'COPY etc/npmrc /usr/local/etc/npmrc',
      ...(AUTHORITIES === undefined ? [] : [`COPY etc/authorities.pem ${AUTHORITIES_INSIDE}`]),
    ];
    await writeFile(join(context, 'Containerfile'), `${lines.join('\n')}\n`);
    await this.build(join(context, 'Containerfile'), image, context);
    await rm(context, { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run('rm', '--all', '--force', '--time', '0');
    await this.run('rmi', '--all', '--force');
    await rm(this.#folder, { recursive: true, force: true });
  }
}
