import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { someReceipt, someSession } from '#test/support/sample-records.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

const create = async (api: TestApi, key: TestKey, body: object = { name: 'x' }) => {
  api.time.now += 1;
  return (await api.call('POST', '/stream', { key, body })).json();
};

const filtered = (filters: object[]) => `filters=${encodeURIComponent(JSON.stringify(filters))}`;

/** The ids on all pages of a list. */
async function walk(api: TestApi, key: TestKey, path: string): Promise<string[]> {
  const ids: string[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const response = await api.call('GET', next, { key });
    assert.equal(response.statusCode, 200, response.body);
    ids.push(...response.json().map(({ id }: { id: string }) => id));
    next = /^<http:\/\/[^/]+\/api(.*)>; rel="next"$/.exec(String(response.headers.link))?.[1];
  }
  return ids;
}

test('a list is ordered by creation or activity in either direction, and its Link headers keep the order', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) ids.push((await create(api, key)).id);
  const [a, b, c, d, e] = ids as [string, string, string, string, string];
  for (const [id, lastSeen] of [
    [c, 9000],
    [a, 8000],
  ] as const) {
    await api.store.streams.setActivity(id as StreamId, { isActive: false, lastSeen: ms(lastSeen), health: undefined });
  }
  assert.deepEqual(await walk(api, key, '/stream?limit=2&order=createdAt-true'), [e, d, c, b, a]);
  assert.deepEqual(await walk(api, key, '/stream?limit=2&order=createdAt-false'), [a, b, c, d, e]);
  assert.deepEqual(await walk(api, key, '/stream?limit=2&order=lastSeen-true'), [c, a, e, d, b]);
  assert.deepEqual(await walk(api, key, '/stream?limit=2&order=lastSeen-false'), [b, d, e, a, c]);
});

test('the URL of the next page keeps the known query parameters, and no others', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (let index = 0; index < 3; index += 1) await create(api, key, { name: 'x', creatorId: 'c & d' });
  const query = `limit=2&order=lastSeen-false&count=1&${filtered([{ id: 'creatorId', value: 'c & d' }])}`;
  const { headers } = await api.call('GET', `/stream?${query}&apiKey=planted`, { key });
  const next = new URL(/<(.*)>/.exec(String(headers.link))![1]!);
  assert.deepEqual([...next.searchParams.keys()].sort(), ['count', 'cursor', 'filters', 'limit', 'order']);
  next.searchParams.delete('cursor');
  assert.deepEqual(
    [...next.searchParams],
    [...new URLSearchParams(query)].sort(([x], [y]) => ORDER[x]! - ORDER[y]!),
  );
});

/** Filters in the form for URLs. */
const ORDER: Record<string, number> = { limit: 0, order: 1, filters: 2, count: 3 };

test('a list holds the entries that match all filters, and X-Total-Count their number', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const [first, second, third] = [
    await create(api, key, { name: 'x', creatorId: 'c1' }),
    await create(api, key, { name: 'x', creatorId: { type: 'unverified', value: 'c1' } }),
    await create(api, key),
  ];
  await api.store.streams.setActivity(second.id, { isActive: true, lastSeen: ms(5000), health: undefined });
  const idsOf = (query: string) => walk(api, key, `/stream?${query}`);
  assert.deepEqual(await idsOf('active=1'), [second.id]);
  assert.deepEqual(await idsOf('active=false'), [third.id, second.id, first.id]);
  assert.deepEqual(await idsOf(filtered([{ id: 'id', value: first.id }])), [first.id]);
  assert.deepEqual(await idsOf(filtered([{ id: 'playbackId', value: third.playbackId }])), [third.id]);
  assert.deepEqual(await idsOf(filtered([{ id: 'creatorId', value: 'c1' }])), [second.id, first.id]);
  assert.deepEqual(await idsOf(`active=1&${filtered([{ id: 'creatorId', value: 'c2' }])}`), []);
  assert.deepEqual(await idsOf(filtered([{ id: 'createdAt', value: { gt: first.createdAt, lt: third.createdAt } }])), [
    second.id,
  ]);
  assert.deepEqual(await idsOf(`order=lastSeen-true&${filtered([{ id: 'lastSeen', value: { gte: 1 } }])}`), [
    second.id,
  ]);
  const counted = await api.call('GET', `/stream?limit=1&count=true&${filtered([{ id: 'creatorId', value: 'c1' }])}`, {
    key,
    headers: { origin: 'https://studio.example' },
  });
  assert.equal(counted.headers['x-total-count'], '2');
  assert.match(String(counted.headers['access-control-expose-headers']), /x-total-count/);
  assert.equal((await api.call('GET', '/stream', { key })).headers['x-total-count'], undefined);
});

test('streams and sessions are found by a part of their names, in any letter case, without wildcards', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const names = ['Morning show', '100% live', 'a_b\\c', 'Ärger am Morgen'];
  const ids: Record<string, string> = {};
  for (const name of names) {
    const { id } = await create(api, key, { name });
    ids[name] = id;
    await api.store.sessions.create(someSession((await api.store.streams.get(id, 'everyone'))!, { name }));
  }
  const other = await api.makeKey('bob');
  await create(api, other, { name: 'morning' });
  for (const [part, found] of [
    ['MORN', ['Morning show']],
    ['mor', ['Ärger am Morgen', 'Morning show']],
    ['äRGER', ['Ärger am Morgen']],
    ['%', ['100% live']],
    ['_', ['a_b\\c']],
    ['\\', ['a_b\\c']],
    ['.*', []],
  ] as const) {
    const query = `limit=1&${filtered([{ id: 'name', value: part }])}`;
    assert.deepEqual(
      await walk(api, key, `/stream?${query}`),
      found.map((name) => ids[name]),
      part,
    );
    const sessions = await api.call('GET', `/session?count=1&${query}`, { key });
    assert.equal(sessions.headers['x-total-count'], String(found.length), part);
    assert.deepEqual(
      sessions.json().map(({ name }: { name: string }) => name),
      found.slice(0, 1),
    );
  }
});

test('the streams of a user are listed under its id, for that user and for admins', async (t) => {
  const api = await startApi(t);
  const [admin, ann, bob] = [await api.makeKey('admin'), await api.makeKey('ann'), await api.makeKey('bob')];
  const [first, second] = [await create(api, ann), await create(api, ann)];
  await create(api, bob);
  const path = `/stream/user/${ann.userId}`;
  for (const key of [ann, admin]) assert.deepEqual(await walk(api, key, `${path}?limit=1`), [second.id, first.id]);
  const session = someSession((await api.store.streams.get(first.id, 'everyone'))!);
  await api.store.sessions.create(session);
  assert.deepEqual(await walk(api, ann, `${path}?sessionsonly=1`), [session.id]);
  const counted = await api.call('GET', `${path}?count=1&limit=1`, { key: admin });
  assert.equal(counted.headers['x-total-count'], '2');
  assert.ok(counted.json()[0].streamKey, 'an admin who names the user sees what the user sees');
  assert.equal((await api.call('GET', path, { key: bob })).json().code, 'admin_only');
  assert.equal((await api.call('GET', `${path}?all=1`, { key: admin })).json().code, 'invalid_request');
  assert.deepEqual((await api.call('GET', '/stream/user/nobody', { key: admin })).json(), []);
});

test('sessionsonly lists sessions as streams with a parent; otherwise there are none', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id, streamKey } = await create(api, key);
  const session = someSession((await api.store.streams.get(id, 'everyone'))!);
  await api.store.sessions.create(session);
  const sessions = await api.call('GET', '/stream?sessionsonly=true&count=1', { key });
  assert.equal(sessions.headers['x-total-count'], '1');
  assert.deepEqual(
    sessions.json().map((each: { id: string; kind: string; parentId: string }) => [each.id, each.kind, each.parentId]),
    [[session.id, 'stream', id]],
  );
  assert.ok(!sessions.body.includes(streamKey));
  for (const suspended of [false, true]) {
    await api.store.streams.change(id, 'everyone', { suspended }, someReceipt());
    const [child] = (await api.call('GET', '/stream?sessionsonly=true', { key })).json();
    assert.equal(child.suspended, suspended);
    assert.equal((await api.call('GET', `/stream/${session.id}`, { key })).json().suspended, suspended);
  }
  for (const query of ['', '?streamsonly=1', '?sessionsonly=0', '?streamsonly=false']) {
    assert.deepEqual(await walk(api, key, `/stream${query}`), [id], query);
  }
});

test('a query that cannot be answered gets 400 with the valid forms', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (let index = 0; index < 3; index += 1) await create(api, key);
  const { headers } = await api.call('GET', '/stream?limit=1', { key });
  const cursor = /cursor=([\w-]+)/.exec(String(headers.link))![1]!;
  for (const [query, tells] of [
    ['order=name-true', /^The query parameter order must be one of createdAt-true, createdAt-false, lastSeen-true/],
    ['order=lastSeen-true,createdAt-true', /^The query parameter order /],
    ['order=createdAt', /^The query parameter order /],
    ['active=yes', /^The query parameter active must be 1, true, 0 or false/],
    ['count=', /^The query parameter count /],
    ['streamsonly=1&sessionsonly=1', /contradicts/],
    ['filters=x', /^The query parameter filters is not valid JSON/],
    [filtered([{ id: 'suspended', value: true }]), /can be filtered by/],
    [`${filtered([])}&${filtered([])}`, /only once/],
    [`order=createdAt-false&cursor=${cursor}`, /belongs to another list, or to another order/],
    [`order=lastSeen-true&cursor=${cursor}`, /belongs to another list/],
    [`sessionsonly=1&cursor=${cursor}`, /belongs to another list/],
  ] as const) {
    const response = await api.call('GET', `/stream?${query}`, { key });
    assert.equal(response.statusCode, 400, query);
    assert.match(response.json().errors[0], tells, query);
  }
  assert.equal((await api.call('GET', `/session?cursor=${cursor}`, { key })).json().code, 'invalid_cursor');
});

test("an admin lists another user's streams or everybody's, others only their own", async (t) => {
  const api = await startApi(t);
  const [admin, ann, bob] = [await api.makeKey('admin'), await api.makeKey('ann'), await api.makeKey('bob')];
  const [own, anns, bobs] = [await create(api, admin), await create(api, ann), await create(api, bob)];
  assert.deepEqual(await walk(api, admin, '/stream'), [own.id]);
  assert.deepEqual(await walk(api, admin, '/stream?all=1&limit=2'), [bobs.id, anns.id, own.id]);
  assert.deepEqual(await walk(api, admin, `/stream?userId=${ann.userId}`), [anns.id]);
  assert.deepEqual(await walk(api, ann, `/stream?userId=${ann.userId}&all=0`), [anns.id]);
  for (const query of ['all=1', `userId=${bob.userId}`]) {
    const refused = await api.call('GET', `/stream?${query}`, { key: ann });
    assert.equal(refused.statusCode, 403);
    assert.equal(refused.json().code, 'admin_only');
  }
  assert.equal((await api.call('GET', '/stream?userId=bob', { key: admin })).statusCode, 400);
});

test('filters of session fields apply to every list of sessions, and are refused for streams', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const [one, two] = [await create(api, key), await create(api, key)];
  const publish = async (id: string, record: boolean) => {
    const session = someSession((await api.store.streams.get(id as StreamId, 'everyone'))!, { record });
    await api.store.sessions.create(session);
    return session.id;
  };
  const [recorded, other] = [await publish(one.id, true), await publish(two.id, false)];
  for (const list of ['/session?', '/stream?sessionsonly=1&']) {
    assert.deepEqual(await walk(api, key, `${list}record=1`), [recorded], list);
    assert.deepEqual(await walk(api, key, `${list}record=0`), [other], list);
    assert.deepEqual(await walk(api, key, `${list}parentId=${two.id}`), [other], list);
  }
  for (const query of ['record=1', `parentId=${one.id}`]) {
    const refused = await api.call('GET', `/stream?${query}`, { key });
    assert.equal(refused.statusCode, 400, query);
    assert.match(refused.json().errors[0], /sessions only; add sessionsonly=1/);
  }
});

test('only an admin may name another user, on all routes where that has a meaning', async (t) => {
  const api = await startApi(t);
  const [admin, ann, bob] = [await api.makeKey('admin'), await api.makeKey('ann'), await api.makeKey('bob')];
  const { id } = await create(api, ann);
  for (const query of ['all=1', `userId=${ann.userId}`]) {
    const url = `/stream/${id}?${query}`;
    assert.equal((await api.call('GET', url, { key: admin })).json().id, id);
    assert.equal((await api.call('GET', url, { key: bob })).json().code, 'admin_only', url);
    for (const path of ['/stream', '/api-token']) {
      const created = await api.call('POST', `${path}?${query}`, { key: admin, body: { name: 'x' } });
      assert.equal(created.statusCode, 400, 'or it would be the own one of an admin who means another');
    }
  }
  assert.equal((await api.call('GET', '/api-token?all=1', { key: admin })).statusCode, 400);
  assert.deepEqual(await walk(api, admin, '/stream'), []);
});

test('lists that cannot be filtered, ordered or counted refuse this, so that nobody takes all rows for some', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('admin');
  const webhook = (
    await api.call('POST', '/webhook', { key, body: { name: 'x', url: 'https://example.com/', events: [] } })
  ).json();
  const paths = ['/webhook', `/webhook/${webhook.id}/log`, `/webhook/${webhook.id}/delivery`, '/api-token'];
  for (const path of [...paths, '/access-control/signing-key', '/user', '/audit', '/browser-session', '/event']) {
    assert.equal((await api.call('GET', path, { key })).statusCode, 200, path);
    for (const query of [filtered([{ id: 'name', value: 'x' }]), 'order=lastSeen-true', 'count=1']) {
      const response = await api.call('GET', `${path}?${query}`, { key });
      assert.deepEqual([response.statusCode, response.json().code], [400, 'invalid_request'], `${path}?${query}`);
    }
  }
});
