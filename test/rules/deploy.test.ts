import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PREFIX, readConfig, SETTINGS } from '#config.ts';
import { NEEDS_NGINX, startComposeNginx } from '../e2e/nginx.ts';
import { blocksRunBy } from '../support/shell-blocks.ts';
import { needs } from '../support/tools.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const textOf = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');

test('every line of the example environment is a comment or a setting that the server accepts', () => {
  const lines = textOf('millrace.env.example').split('\n');
  const assignments = lines.flatMap((line) => line.match(/^#?(MILLRACE_\w+)=(.+)$/)?.slice(1, 3) ?? []);
  assert.ok(assignments.length > 20);
  const names = assignments.filter((_, index) => index % 2 === 0);
  assert.equal(new Set(names).size, names.length, 'no setting twice');
  for (const line of lines) assert.match(line, /^(#?MILLRACE_\w+=.+|# .*|)$/);
  const environment = Object.fromEntries(names.map((name, index) => [name, assignments[2 * index + 1]]));
  assert.doesNotThrow(() => readConfig(environment));
});

test('systemd finds nothing wrong with the unit', needs('systemd-analyze'), () => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(DEPLOY, 'millrace.service')], {
    encoding: 'utf8',
  });
  // systemd may also report problems of other units of the machine.
  assert.deepEqual(
    stderr.split('\n').filter((line) => line.includes('millrace')),
    [],
  );
  assert.equal(status, 0, stderr);
});

test('the unit is restarted without end, because a database may come back, but not with wrong settings', () => {
  const unit = textOf('millrace.service');
  assert.match(unit, /^RestartPreventExitStatus=2$/m);
  assert.match(unit, /^StartLimitIntervalSec=0$/m);
});

test("the unit allows Node to read the machine's addresses, which it needs to listen on all of them", () => {
  assert.match(textOf('millrace.service'), /^RestrictAddressFamilies=.*\bAF_NETLINK\b/m);
});

test('Pods get no variables for Services, which the server may take for settings', () => {
  assert.throws(() => readConfig({ MILLRACE_SERVICE_HOST: '10.96.0.7' }), /is not a setting/);
  const sets = textOf('kubernetes.yaml')
    .split(/^---$/m)
    .filter((text) => /^kind: StatefulSet$/m.test(text));
  assert.ok(sets.length > 0);
  for (const text of sets) assert.match(text, /^ {6}enableServiceLinks: false$/m);
});

test('process 1 of each container of Millrace is an init, which reaps the workers of a fork server that was lost', () => {
  const [, service] = /^ {2}millrace:\n((?: {4}.*\n|\n)+)/m.exec(textOf('compose.yaml')) ?? [];
  assert.match(service ?? '', /^ {4}init: true$/m);
  assert.match(textOf('kubernetes.yaml'), /^ {6}shareProcessNamespace: true$/m);
});

test('all files name only settings that exist', () => {
  const known = new Set(
    Object.values(SETTINGS).flatMap((stage) => Object.values(stage).map(({ name }) => PREFIX + name)),
  );
  const unknown = readdirSync(DEPLOY).flatMap((file) =>
    [...textOf(file).matchAll(/\bMILLRACE_[A-Z0-9_]+/g)]
      .filter(([name]) => !known.has(name))
      .map(([name]) => `${file}: ${name}`),
  );
  assert.deepEqual(unknown, []);
});

test('the commands for certificates of certbot leave both files where only root and the service can read them', (t) => {
  const [block] = blocksRunBy('test/rules/deploy.test.ts');
  const folder = mkdtempSync(join(tmpdir(), 'millrace-certbot-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // Certbot before 3.2 runs the hooks of that folder only when it renews.
  const standIns = `
    groupadd() { :; }
    certbot() {
      mkdir -p ${folder}/letsencrypt/renewal-hooks/deploy ${folder}/letsencrypt/live/live.example.com
      for name in fullchain privkey; do echo $name > ${folder}/letsencrypt/live/live.example.com/$name.pem; done
    }`;
  const commands = block!.commands
    .replaceAll('/etc/', `${folder}/`)
    .replaceAll(/-g millrace-tls/g, `-g ${process.getgid!()}`);
  const { status, stderr } = spawnSync('sh', ['-ec', `${standIns}\n${commands}`], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  for (const name of ['fullchain', 'privkey']) {
    const file = join(folder, 'millrace/tls', `${name}.pem`);
    assert.equal(readFileSync(file, 'utf8'), `${name}\n`);
    assert.equal(statSync(file).mode & 0o777, 0o640);
  }
});

test('the volume of a Pod has room for recordings above the free space that they must leave', () => {
  const [, gib] = /volumeClaimTemplates:[\s\S]*?storage: (\d+)Gi/.exec(textOf('kubernetes.yaml')) ?? [];
  const { minFreeMib } = readConfig({}).recording;
  assert.ok(Number(gib) * 1024 > 10 * minFreeMib, `${gib} GiB`);
});

test('Compose finds nothing wrong with compose.yaml', needs('docker-compose'), (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-compose-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // The Compose of Debian 12 is too old for the name of a project.
  writeFileSync(join(folder, 'compose.yaml'), textOf('compose.yaml').replace(/^name: .*$/m, ''));
  const env = { ...process.env, POSTGRES_PASSWORD: 'secret' };
  const { status, stderr } = spawnSync('docker-compose', ['config', '--quiet'], { cwd: folder, env, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

test('nginx finds nothing wrong with the configuration for Compose', needs('/usr/sbin/nginx'), (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-nginx-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const site = textOf('compose-nginx.conf')
    .replace('/var/cache/nginx', folder)
    .replace('/dev/stdout', `${folder}/access.log`)
    .replace('listen 80;', `listen unix:${folder}/http;`);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, `pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${site} }`);
  const { status, stderr } = spawnSync('/usr/sbin/nginx', ['-t', '-p', folder, '-c', file, '-e', 'stderr'], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
});

test('behind a proxy, the nginx of Compose passes on the address of the client that the proxy names, and nothing that a client invents', {
  ...NEEDS_NGINX,
}, async (t) => {
  const seen: unknown[] = [];
  const upstream = createServer(({ headers, url }, response) => {
    if (url === '/api') seen.push(headers['x-forwarded-for']);
    response.end();
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  t.after(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  const address = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  for (const proxy of ['127.0.0.1', undefined]) {
    await using nginx = await startComposeNginx(address, proxy);
    for (const forwarded of ['203.0.113.7', '198.51.100.1, 203.0.113.8']) {
      await fetch(`${nginx.url}/api`, { headers: { 'x-forwarded-for': forwarded } });
    }
  }
  assert.deepEqual(seen, ['203.0.113.7', '203.0.113.8', '127.0.0.1', '127.0.0.1']);
});

test('the logs of both configurations of nginx leave out the same tokens and tickets', () => {
  const formats = ['nginx.conf', 'compose-nginx.conf'].map((file) => {
    const text = textOf(file);
    assert.match(text, /^ +access_log \S+ millrace;$/m, file);
    for (const server of text.split(/^server /m).slice(1)) {
      assert.match(server, /^ {2}access_log (?:off|\S+ millrace);$/m, file);
    }
    return text.slice(text.indexOf('map $uri $millrace_logged_uri'), text.indexOf('$upstream_cache_status'));
  });
  assert.match(formats[0]!, /log_format/);
  assert.equal(formats[0], formats[1]);
});
