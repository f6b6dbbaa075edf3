import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECKS } from '#api/doctor.ts';
import { someNode } from '#test/support/sample-records.ts';
import { startApi } from './server.ts';

test('the doctor makes every check, names the settings in force, and shows no secret', async (t) => {
  const secret = 'a bootstrap key that nobody may see again';
  const api = await startApi(t, { MILLRACE_BOOTSTRAP_API_KEY: secret, MILLRACE_EVENT_RETENTION_DAYS: '9' });
  const [admin, ann] = [await api.makeKey('admin'), await api.makeKey('ann')];
  const response = await api.call('GET', '/admin/doctor', { key: admin });
  assert.equal(response.statusCode, 200, response.body);
  const doctor = response.json();
  assert.deepEqual(
    doctor.checks.map(({ id }: { id: string }) => id),
    CHECKS,
  );
  const states = Object.fromEntries(doctor.checks.map(({ id, state }: { id: string; state: string }) => [id, state]));
  assert.deepEqual([states.database, states.encoder, states.proxy, states.ingest], ['ok', 'warning', 'ok', 'warning']);
  assert.equal(doctor.versions.millrace, '1.2.3');
  const setting = (name: string) => doctor.settings.find((each: { name: string }) => each.name === name);
  assert.equal(setting('MILLRACE_EVENT_RETENTION_DAYS').value, '9');
  assert.deepEqual(setting('MILLRACE_BOOTSTRAP_API_KEY'), { name: 'MILLRACE_BOOTSTRAP_API_KEY', isSecret: true });
  assert.ok(!response.body.includes(secret));

  const forwarded = { key: admin, headers: { 'x-forwarded-for': '192.0.2.1' }, remoteAddress: '203.0.113.5' };
  const behind = (await api.call('GET', '/admin/doctor', forwarded)).json();
  const proxy = behind.checks.find(({ id }: { id: string }) => id === 'proxy');
  assert.deepEqual([proxy.state, /MILLRACE_TRUSTED_PROXIES/.test(proxy.message)], ['problem', true]);
  for (const path of ['/admin/doctor', '/admin/nodes']) {
    assert.equal((await api.call('GET', path, { key: ann })).statusCode, 403);
    assert.equal((await api.call('GET', path)).statusCode, 401);
  }
});

test('a single server lists itself, and several list all with their leases', async (t) => {
  const api = await startApi(t);
  const admin = await api.makeKey('admin');
  const list = async () => (await api.call('GET', '/admin/nodes', { key: admin })).json();
  const [alone, ...others] = await list();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [alone.isThis, alone.isAlive, alone.sessions, alone.publishers, alone.load.cores > 0],
    [true, true, 2, 1, true],
  );
  const node = someNode();
  await api.store.nodes.renew(node, 60_000);
  const [listed] = await list();
  assert.ok(listed.leaseLeft > 50 && listed.leaseLeft <= 60);
  assert.deepEqual(
    { ...listed, leaseLeft: 0 },
    {
      id: node.id,
      url: node.url,
      isThis: false,
      isAlive: true,
      leaseLeft: 0,
      sessions: 0,
      publishers: 0,
    },
  );
});
