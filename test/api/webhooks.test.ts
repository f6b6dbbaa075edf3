import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Secret } from '#domain/secret.ts';
import { ms } from '#lib/units.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { startReceiver } from '#test/support/webhook-receiver.ts';
import { signatureProblem, standardSecret } from '#webhooks/signature.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

const LAB = { MILLRACE_WEBHOOKS_ALLOW_PRIVATE: '1' };

interface WebhookObject {
  readonly id: string;
  readonly sharedSecret: string;
  readonly disabled: boolean;
  readonly disabledReason?: string;
  readonly status: { readonly lastTriggeredAt?: number; readonly lastFailure?: { readonly error: string } };
}

async function create(api: TestApi, key: TestKey, url: string, body: object = {}): Promise<WebhookObject> {
  const defaults = { name: 'hook', url, events: ['stream.created', 'stream.updated'] };
  const response = await api.call('POST', '/webhook', { key, body: { ...defaults, ...body } });
  assert.equal(response.statusCode, 200, response.body);
  return response.json();
}

async function newStream(api: TestApi, key: TestKey): Promise<string> {
  const response = await api.call('POST', '/stream', { key, body: { name: 'a', profiles: [] } });
  assert.equal(response.statusCode, 201, response.body);
  return response.json().id;
}

async function get(api: TestApi, key: TestKey, path: string) {
  const response = await api.call('GET', path, { key });
  assert.equal(response.statusCode, 200, response.body);
  return response.json();
}

test('an event is delivered once, signed in both ways, with the stream and without its key', async (t) => {
  const api = await startApi(t, LAB);
  await using receiver = await startReceiver();
  receiver.answer = () => ({ status: 201, body: 'thanks' });
  const key = await api.makeKey('ann');
  const webhook = await create(api, key, `${receiver.url}hook?a=b`);
  const streamId = await newStream(api, key);
  await waitFor(() => receiver.received.length === 1, { what: 'the delivery' });
  const [delivery] = receiver.received;
  const { body, headers, text } = delivery!;
  const [event] = await get(api, key, '/event');
  assert.equal(delivery!.path, '/hook?a=b');
  assert.deepEqual(
    [body.id, body.event, body.webhookId, body.createdAt, body.sequence, body.payload],
    [event.id, 'stream.created', webhook.id, event.createdAt, event.sequence, event.payload],
  );
  const { streamKey, ...stream } = await get(api, key, `/stream/${streamId}`);
  assert.deepEqual(body.stream, stream);
  assert.ok(streamKey.length > 10 && !text.includes(streamKey));

  const secret = new Secret(webhook.sharedSecret);
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  assert.equal(signatureProblem(plain, text, secret, ms(body.timestamp)), undefined);
  // The clock of the test's server differs from the machine's, which the package uses.
  const standard = new StandardWebhook(standardSecret(secret));
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  assert.ok(
    String(headers['webhook-signature'])
      .split(' ')
      .includes(standard.sign(body.id, at, text)),
  );

  const log = await waitFor(
    async () => {
      const found = await get(api, key, `/webhook/${webhook.id}/log`);
      return found.length === 1 && found[0];
    },
    { what: 'the entry of the log' },
  );
  assert.deepEqual([log.success, log.attempt, log.event, log.eventId], [true, 1, 'stream.created', event.id]);
  assert.deepEqual(log.request.body, text);
  assert.equal(Buffer.from(log.response.body, 'base64').toString(), 'thanks');
  assert.deepEqual(await get(api, key, `/webhook/${webhook.id}/log/${log.id}`), log);
  assert.ok(!JSON.stringify(log).includes(webhook.sharedSecret));
  assert.ok(!api.lines.some((line) => line.includes(webhook.sharedSecret)));
  assert.deepEqual(await get(api, key, `/webhook/${webhook.id}/delivery`), []);
  assert.equal((await get(api, key, `/webhook/${webhook.id}`)).status.lastTriggeredAt, log.createdAt);
});

test('a webhook gets only events of its types, its stream and its user', async (t) => {
  const api = await startApi(t, LAB);
  await using receiver = await startReceiver();
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const [one, two] = [await newStream(api, ann), await newStream(api, ann)];
  await create(api, ann, `${receiver.url}one`, { events: ['stream.updated'], streamId: one });
  await create(api, ann, `${receiver.url}all`, { events: ['stream.updated', 'stream.deleted'] });
  await create(api, bob, `${receiver.url}bob`, { events: ['stream.updated', 'stream.deleted'] });
  for (const id of [two, one]) await api.call('PATCH', `/stream/${id}`, { key: ann, body: { name: 'b' } });
  await api.call('DELETE', `/stream/${one}`, { key: ann });
  await waitFor(() => receiver.received.length === 4, { what: 'the deliveries' });
  const found = receiver.received.map(({ path, body }) => `${path} ${body.event} ${body.stream?.id === one}`);
  assert.deepEqual(found.toSorted(), [
    '/all stream.deleted true',
    '/all stream.updated false',
    '/all stream.updated true',
    '/one stream.updated true',
  ]);
});

test('a delivery that failed is tried again with the same id, and can be sent again on request', async (t) => {
  const api = await startApi(t, LAB);
  await using receiver = await startReceiver();
  receiver.answer = () => ({ status: 500, body: 'no' });
  const key = await api.makeKey('ann');
  const webhook = await create(api, key, receiver.url);
  await newStream(api, key);
  const failed = await waitFor(async () => (await get(api, key, `/webhook/${webhook.id}/log?success=0`))[0], {
    what: 'the failure',
  });
  assert.deepEqual([failed.success, failed.error], [false, 'The receiver answered 500.']);
  const [pending] = await get(api, key, `/webhook/${webhook.id}/delivery?state=pending`);
  assert.deepEqual([pending.state, pending.attempts, pending.eventId], ['pending', 1, failed.eventId]);
  assert.equal((await get(api, key, `/webhook/${webhook.id}`)).status.lastFailure.statusCode, 500);

  receiver.answer = () => ({ status: 200 });
  api.time.now += 3;
  const path = `/webhook/${webhook.id}/log/${failed.id}/resend`;
  const again = await api.call('POST', path, { key, headers: { 'idempotency-key': 'once' } });
  assert.equal(again.statusCode, 200, again.body);
  assert.deepEqual([again.json().success, again.json().eventId], [true, failed.eventId]);
  assert.notEqual(again.json().id, failed.id);
  assert.equal((await get(api, key, `/webhook/${webhook.id}`)).status.lastTriggeredAt, again.json().createdAt);
  const [first, second] = receiver.received;
  assert.deepEqual([second!.body.id, second!.body.payload], [first!.body.id, first!.body.payload]);
  assert.deepEqual(await get(api, key, `/webhook/${webhook.id}/delivery`), []);
  const repeat = await api.call('POST', path, { key, headers: { 'idempotency-key': 'once' } });
  assert.deepEqual([repeat.json(), receiver.received.length], [again.json(), 2]);
});

test('a test event is sent, signed, to the webhook that it was requested for and to no other', async (t) => {
  const api = await startApi(t, LAB);
  await using receiver = await startReceiver();
  const key = await api.makeKey('ann');
  const streamId = await newStream(api, key);
  const webhook = await create(api, key, `${receiver.url}tested`, { events: [], streamId });
  await create(api, key, `${receiver.url}another`, { events: ['webhook.test'] });
  const path = `/webhook/${webhook.id}/test`;
  const answer = await api.call('POST', path, { key, headers: { 'idempotency-key': 'once' } });
  assert.equal(answer.statusCode, 200, answer.body);
  const test = answer.json();
  assert.deepEqual(test, {
    webhookId: webhook.id,
    eventId: test.eventId,
    event: 'webhook.test',
    state: 'pending',
    attempts: 0,
    createdAt: api.time.now,
  });
  const repeat = await api.call('POST', path, { key, headers: { 'idempotency-key': 'once' } });
  assert.deepEqual(repeat.json(), test);
  const log = await waitFor(async () => (await get(api, key, `/webhook/${webhook.id}/log`))[0], {
    what: 'the entry of the log',
  });
  assert.deepEqual([log.eventId, log.event, log.success, log.attempt], [test.eventId, 'webhook.test', true, 1]);
  const [delivery, ...others] = receiver.received;
  assert.deepEqual([delivery!.path, others.length], ['/tested', 0]);
  const { body, headers, text } = delivery!;
  assert.deepEqual([body.id, body.event, body.payload], [test.eventId, 'webhook.test', { webhookId: webhook.id }]);
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  assert.equal(signatureProblem(plain, text, new Secret(webhook.sharedSecret), ms(body.timestamp)), undefined);
  const [event, ...more] = await get(api, key, '/event?type=webhook.test');
  assert.deepEqual([event.id, event.sequence, more.length], [test.eventId, body.sequence, 0]);
  assert.deepEqual(await get(api, key, `/webhook/${webhook.id}/delivery`), []);
});

test('a test event that fails is tried again, and a disabled webhook gets none', async (t) => {
  const api = await startApi(t, LAB);
  await using receiver = await startReceiver();
  receiver.answer = () => ({ status: 500 });
  const key = await api.makeKey('ann');
  const webhook = await create(api, key, receiver.url);
  const test = (await api.call('POST', `/webhook/${webhook.id}/test`, { key })).json();
  const pending = await waitFor(
    async () => {
      const [found] = await get(api, key, `/webhook/${webhook.id}/delivery`);
      return found?.attempts === 1 && found;
    },
    { what: 'the failure' },
  );
  assert.deepEqual([pending.eventId, pending.event, pending.state], [test.eventId, 'webhook.test', 'pending']);
  await api.call('PATCH', `/webhook/${webhook.id}`, { key, body: { disabled: true } });
  const refused = await api.call('POST', `/webhook/${webhook.id}/test`, { key });
  assert.deepEqual([refused.statusCode, refused.json().code], [409, 'conflict']);
  assert.equal((await get(api, key, '/event?type=webhook.test')).length, 1);
});

test('410 disables a webhook with an event, and after it is enabled, resending from a time works', async (t) => {
  const api = await startApi(t, LAB);
  await using receiver = await startReceiver();
  receiver.answer = () => ({ status: 410 });
  const key = await api.makeKey('ann');
  const webhook = await create(api, key, receiver.url);
  await newStream(api, key);
  const disabled = await waitFor(
    async () => {
      const found: WebhookObject = await get(api, key, `/webhook/${webhook.id}`);
      return found.disabled && found;
    },
    { what: 'the webhook to be disabled' },
  );
  assert.equal(disabled.disabledReason, 'gone');
  const told = await waitFor(async () => (await get(api, key, '/event?type=webhook.disabled'))[0], {
    what: 'the event',
  });
  assert.deepEqual(told.payload, { webhookId: webhook.id, reason: 'gone' });
  const [dead] = await get(api, key, `/webhook/${webhook.id}/delivery`);
  assert.equal(dead.state, 'dead');
  await newStream(api, key);

  receiver.answer = () => ({ status: 200 });
  await api.call('PATCH', `/webhook/${webhook.id}`, { key, body: { disabled: false } });
  const sent = receiver.received.length;
  const resent = await api.call('POST', `/webhook/${webhook.id}/resend`, { key, body: { since: 0 } });
  assert.equal(resent.statusCode, 204, resent.body);
  await waitFor(() => receiver.received.length === sent + 1, { what: 'the dead delivery' });
  assert.equal(receiver.received.at(-1)!.body.id, dead.eventId);
});

test('deliveries are signed with each replaced secret for a day after its replacement', async (t) => {
  const api = await startApi(t, LAB);
  await using receiver = await startReceiver();
  const key = await api.makeKey('ann');
  const webhook = await create(api, key, receiver.url, { sharedSecret: 'the-old-secret-of-ann' });
  const next = 'the-new-secret-of-ann';
  await api.call('PATCH', `/webhook/${webhook.id}`, { key, body: { sharedSecret: next } });
  const isSignedBy = (index: number, secret: string) => {
    const { headers, text, body } = receiver.received[index]!;
    const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    return signatureProblem(plain, text, new Secret(secret), ms(body.timestamp)) === undefined;
  };
  await newStream(api, key);
  await waitFor(() => receiver.received.length === 1, { what: 'a delivery with both' });
  assert.deepEqual([isSignedBy(0, next), isSignedBy(0, webhook.sharedSecret)], [true, true]);

  api.time.now += 3_600_000;
  const third = 'the-third-secret-of-ann';
  await api.call('PATCH', `/webhook/${webhook.id}`, { key, body: { sharedSecret: third } });
  const secrets = [third, next, webhook.sharedSecret];
  const signedBy = async (count: number) => {
    await newStream(api, key);
    await waitFor(() => receiver.received.length === count, { what: `delivery ${count}` });
    return secrets.map((secret) => isSignedBy(count - 1, secret));
  };
  assert.deepEqual(await signedBy(2), [true, true, true]);
  api.time.now += 23 * 3_600_000;
  assert.deepEqual(await signedBy(3), [true, true, false]);
  api.time.now += 3_600_000;
  assert.deepEqual(await signedBy(4), [true, false, false]);
});

test('a webhook is found, changed and deleted only by its user, and its secret is shown to those who may change it', async (t) => {
  const api = await startApi(t);
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const reader = await api.makeKey('ann', 'reader', undefined, [
    { resources: ['webhook', 'webhook/*'], methods: ['get'] },
  ]);
  const url = 'https://example.com/hook';
  const webhook = await create(api, ann, url);
  assert.match(webhook.sharedSecret, /^[0-9a-z]{32}$/);
  const { sharedSecret, ...shown } = webhook;
  assert.deepEqual(await get(api, ann, `/webhook/${webhook.id}`), webhook);
  assert.deepEqual(await get(api, reader, `/webhook/${webhook.id}`), shown);
  assert.deepEqual(await get(api, reader, '/webhook'), [shown]);
  assert.deepEqual(await get(api, ann, '/webhook/subscribed/stream.updated'), [webhook]);
  assert.deepEqual(await get(api, ann, '/webhook/subscribed/stream.idle'), []);
  for (const [method, path, body] of [
    ['GET', `/webhook/${webhook.id}`, undefined],
    ['PATCH', `/webhook/${webhook.id}`, { name: 'x' }],
    ['PUT', `/webhook/${webhook.id}`, { name: 'x', url }],
    ['DELETE', `/webhook/${webhook.id}`, undefined],
    ['GET', `/webhook/${webhook.id}/log`, undefined],
    ['GET', `/webhook/${webhook.id}/delivery`, undefined],
    ['POST', `/webhook/${webhook.id}/resend`, { since: 0 }],
    ['POST', `/webhook/${webhook.id}/test`, undefined],
    ['DELETE', '/webhook', { ids: [webhook.id] }],
  ] as const) {
    assert.equal((await api.call(method, path, { key: bob, body })).statusCode, 404, `${method} ${path}`);
  }
  const put = await api.call('PUT', `/webhook/${webhook.id}`, { key: ann, body: { name: 'renamed', url } });
  assert.deepEqual([put.statusCode, put.json()], [200, { ...webhook, name: 'renamed' }]);
  await api.call('PATCH', `/webhook/${webhook.id}`, { key: ann, body: { events: ['stream.idle'] } });
  assert.equal((await get(api, ann, '/webhook/subscribed/stream.idle')).length, 1);
  assert.deepEqual(await get(api, ann, '/webhook/subscribed/stream.updated'), []);
  const admin = await api.makeKey('admin');
  const ofAll = await api.call('GET', '/webhook/subscribed/stream.idle?all=1', { key: admin });
  assert.deepEqual([ofAll.statusCode, ofAll.json().code], [400, 'invalid_request']);
  assert.equal((await get(api, admin, `/webhook/${webhook.id}?userId=${ann.userId}`)).name, 'renamed');
  const deleted = await api.call('DELETE', `/webhook/${webhook.id}`, { key: ann });
  assert.deepEqual([deleted.statusCode, deleted.json().id], [200, webhook.id]);
  assert.equal((await api.call('GET', `/webhook/${webhook.id}`, { key: ann })).statusCode, 404);
  const log = (await get(api, admin, `/audit?resourceId=${webhook.id}`)) as { action: string; fields: string[] }[];
  assert.deepEqual(
    log.map(({ action, fields }) => [action, fields]),
    [
      ['webhook.deleted', []],
      ['webhook.updated', ['events']],
      ['webhook.updated', ['name', 'url']],
      ['webhook.created', []],
    ],
  );
  assert.ok(!JSON.stringify(log).includes(sharedSecret));
});

test('a user has no more webhooks than its quota', async (t) => {
  const api = await startApi(t, { MILLRACE_QUOTA_WEBHOOKS: '1' });
  const key = await api.makeKey('ann');
  await create(api, key, 'https://example.com/');
  const body = { name: 'two', url: 'https://example.com/', events: [] };
  const second = await api.call('POST', '/webhook', { key, body });
  assert.deepEqual([second.statusCode, second.json().code], [403, 'quota_exceeded']);
});

test('an invalid webhook is refused with the name of the field', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const good = { name: 'x', url: 'https://example.com/', events: [] };
  for (const [body, field] of [
    [{ ...good, name: '' }, 'name'],
    [{ ...good, events: ['stream.burned'] }, 'events'],
    [{ ...good, events: undefined }, 'events'],
    [{ ...good, sharedSecret: 'short' }, 'sharedSecret must have at least 16 characters'],
    [{ ...good, url: 'ftp://example.com/' }, 'url'],
    [{ ...good, url: 'https://user:password@example.com/' }, 'url'],
    [{ ...good, url: 'http://127.0.0.1/' }, 'url'],
    [{ ...good, url: 'https://example.com/\u0000' }, 'url'],
    [{ ...good, url: 'https://example.com/\ud800' }, 'url'],
    [{ ...good, url: 'http://[::ffff:10.0.0.1]/' }, 'url'],
    [{ ...good, url: 'http://2130706433/' }, 'url'],
    [{ ...good, colour: 'red' }, 'colour'],
  ] as const) {
    const response = await api.call('POST', '/webhook', { key, body });
    assert.equal(response.statusCode, 422, response.body);
    assert.match(response.json().errors[0], new RegExp(`field ${field}`), response.body);
  }
  const foreign = await newStream(api, await api.makeKey('bob'));
  const response = await api.call('POST', '/webhook', { key, body: { ...good, streamId: foreign } });
  assert.equal(response.statusCode, 404);
});
