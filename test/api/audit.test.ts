import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AssetId,
  newBrowserSessionId,
  newMediaPath,
  newWebhookLogId,
  type StreamId,
  type UserId,
  type WebhookId,
} from '#domain/ids.ts';
import { newBrowserSecret } from '#domain/secret.ts';
import { ms } from '#lib/units.ts';
import { SOME_EXTENT, someReceipt, someSession } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

/** An entry as it comes over HTTP. */
interface Entry {
  readonly action: string;
  readonly resourceId: string;
  readonly fields: readonly string[];
  readonly actor?: { readonly userId: string; readonly tokenId: string; readonly tokenName: string };
  readonly address?: string;
  readonly requestId?: string;
}

const readAudit = async (api: TestApi, key: TestKey, query = ''): Promise<Entry[]> =>
  (await api.call('GET', `/audit?limit=1000${query}`, { key })).json();

/** The request for each mutating route, and the expected entry. An admin makes the objects anew for each. */
const MUTATIONS: Record<
  string,
  (made: Made) => { path: string; body?: unknown; action: string; resourceId?: string; fields?: string[] }
> = {
  'POST /stream': () => ({ path: '/stream', body: { name: 'x' }, action: 'stream.created' }),
  'PATCH /stream/{id}': ({ streamId }) => ({
    path: `/stream/${streamId}`,
    body: { name: 'y', userTags: { a: 1 } },
    action: 'stream.updated',
    resourceId: streamId,
    fields: ['name', 'userTags'],
  }),
  'PATCH /stream/{id}/suspended': ({ streamId }) => ({
    path: `/stream/${streamId}/suspended`,
    body: { suspended: true },
    action: 'stream.updated',
    resourceId: streamId,
    fields: ['suspended'],
  }),
  'PATCH /stream/{id}/record': ({ streamId }) => ({
    path: `/stream/${streamId}/record`,
    body: { record: true },
    action: 'stream.updated',
    resourceId: streamId,
    fields: ['record'],
  }),
  'POST /stream/{id}/rotate-key': ({ streamId }) => ({
    path: `/stream/${streamId}/rotate-key`,
    action: 'stream.key_rotated',
    resourceId: streamId,
  }),
  'DELETE /stream/{id}/terminate': ({ streamId }) => ({
    path: `/stream/${streamId}/terminate`,
    action: 'stream.terminated',
    resourceId: streamId,
  }),
  'DELETE /stream/{id}': ({ streamId }) => ({
    path: `/stream/${streamId}`,
    action: 'stream.deleted',
    resourceId: streamId,
  }),
  'DELETE /stream': ({ streamId }) => ({
    path: '/stream',
    body: { ids: [streamId] },
    action: 'stream.deleted',
    resourceId: streamId,
  }),
  'POST /clip': ({ playbackId }) => ({
    path: '/clip',
    body: { playbackId, startTime: SOME_EXTENT.fromMs },
    action: 'clip.created',
  }),
  'PATCH /asset/{id}': ({ assetId }) => ({
    path: `/asset/${assetId}`,
    body: { name: 'y' },
    action: 'asset.updated',
    resourceId: assetId,
    fields: ['name'],
  }),
  'DELETE /asset/{id}': ({ assetId }) => ({
    path: `/asset/${assetId}`,
    action: 'asset.deleted',
    resourceId: assetId,
  }),
  'DELETE /browser-session/{id}': ({ browserSessionId }) => ({
    path: `/browser-session/${browserSessionId}`,
    action: 'browser_session.deleted',
    resourceId: browserSessionId,
  }),
  'POST /api-token': () => ({ path: '/api-token', action: 'api_key.created' }),
  'DELETE /api-token/{id}': ({ tokenId }) => ({
    path: `/api-token/${tokenId}`,
    action: 'api_key.deleted',
    resourceId: tokenId,
  }),
  'POST /access-control/signing-key': () => ({ path: '/access-control/signing-key', action: 'signing_key.created' }),
  'PATCH /access-control/signing-key/{id}': ({ signingKeyId }) => ({
    path: `/access-control/signing-key/${signingKeyId}`,
    body: { name: 'website', disabled: true },
    action: 'signing_key.updated',
    resourceId: signingKeyId,
    fields: ['name', 'disabled'],
  }),
  'DELETE /access-control/signing-key/{id}': ({ signingKeyId }) => ({
    path: `/access-control/signing-key/${signingKeyId}`,
    action: 'signing_key.deleted',
    resourceId: signingKeyId,
  }),
  'POST /user': () => ({ path: '/user', body: { name: 'new' }, action: 'user.created' }),
  'PATCH /user/{id}': ({ userId }) => ({
    path: `/user/${userId}`,
    body: { suspended: true },
    action: 'user.updated',
    resourceId: userId,
    fields: ['suspended'],
  }),
  'POST /webhook': () => ({ path: '/webhook', body: { name: 'x', url: HOOK, events: [] }, action: 'webhook.created' }),
  'PATCH /webhook/{id}': ({ webhookId }) => ({
    path: `/webhook/${webhookId}`,
    body: { sharedSecret: 'another-secret-for-it' },
    action: 'webhook.updated',
    resourceId: webhookId,
    fields: ['sharedSecret'],
  }),
  'PUT /webhook/{id}': ({ webhookId }) => ({
    path: `/webhook/${webhookId}`,
    body: { name: 'y', url: HOOK },
    action: 'webhook.updated',
    resourceId: webhookId,
    fields: ['name', 'url'],
  }),
  'DELETE /webhook/{id}': ({ webhookId }) => ({
    path: `/webhook/${webhookId}`,
    action: 'webhook.deleted',
    resourceId: webhookId,
  }),
  'DELETE /webhook': ({ webhookId }) => ({
    path: '/webhook',
    body: { ids: [webhookId] },
    action: 'webhook.deleted',
    resourceId: webhookId,
  }),
  'POST /webhook/{id}/resend': ({ webhookId }) => ({
    path: `/webhook/${webhookId}/resend`,
    body: { since: 0 },
    action: 'webhook.resent',
    resourceId: webhookId,
  }),
  'POST /webhook/{id}/test': ({ webhookId }) => ({
    path: `/webhook/${webhookId}/test`,
    action: 'webhook.tested',
    resourceId: webhookId,
  }),
  'POST /webhook/{id}/log/{logId}/resend': ({ webhookId, logId }) => ({
    path: `/webhook/${webhookId}/log/${logId}/resend`,
    action: 'webhook.resent',
    resourceId: webhookId,
  }),
};

/** The objects that can be changed. */
interface Made {
  readonly streamId: string;
  readonly playbackId: string;
  readonly assetId: string;
  readonly browserSessionId: string;
  readonly tokenId: string;
  readonly userId: string;
  readonly signingKeyId: string;
  readonly webhookId: string;
  readonly logId: string;
}

/** A webhook URL that nothing listens on, and to which nothing is sent automatically. */
const HOOK = 'https://example.invalid/hook';

/** Puts a request into the log of a webhook. */
async function logged(api: TestApi, webhook: { readonly id: string; readonly userId: string }): Promise<string> {
  const event = await waitFor(
    async () => (await api.store.events.list('everyone', { limit: 1, direction: 'desc', filter: {} }))[0],
    { what: 'an event' },
  );
  const log = {
    id: newWebhookLogId(),
    webhookId: webhook.id as WebhookId,
    userId: webhook.userId as UserId,
    eventId: event.id,
    type: event.type,
    streamId: event.streamId,
    at: ms(1),
    durationMs: 1,
    success: false,
    attempt: 1,
    url: HOOK,
    requestBody: '{}',
    statusCode: undefined,
    responseBody: '',
    error: 'It failed.',
  };
  await api.store.webhooks.record(log.webhookId, [{ sequence: event.sequence, log, result: { type: 'dead' } }]);
  return log.id;
}

/** Makes an ended recording of a stream, and a browser session. */
async function alsoMade(api: TestApi, { userId }: TestKey, streamId: StreamId) {
  const stream = (await api.store.streams.get(streamId, 'everyone'))!;
  const ended = { phase: 'ended', endedAt: ms(5), endReason: 'unpublished', recordingPath: newMediaPath() } as const;
  const session = someSession(stream, ended);
  await api.store.sessions.create(session);
  await api.store.assets.finish(session.id as string as AssetId, SOME_EXTENT, ms(6));
  const browserSessionId = newBrowserSessionId();
  const times = { createdAt: ms(api.time.now), lastSeen: ms(api.time.now) };
  const secretHash = newBrowserSecret().hash();
  const browser = { id: browserSessionId, userId, keyId: undefined, secretHash, address: '192.0.2.1', ...times };
  await api.store.browserSessions.create(browser, someReceipt());
  return { assetId: session.id, browserSessionId };
}

/** Operations that change nothing that is stored. What they cause is in the events of the stream. */
const STORE_NOTHING = ['POST /stream/{id}/test-picture', 'DELETE /stream/{id}/test-picture'];

test('every mutating operation of the document leaves an entry with who, what, when and from where, and without secrets', async (t) => {
  const api = await startApi(t, { MILLRACE_TRUSTED_PROXIES: '10.0.0.0/8' });
  const key = await api.makeKey('admin', 'office');
  const document = (await api.call('GET', '/openapi.json')).json<{
    paths: Record<string, Record<string, Operation>>;
  }>();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method, { responses }]) => method !== 'get' && method !== 'head' && !('501' in responses))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(operations.toSorted(), [...Object.keys(MUTATIONS), ...STORE_NOTHING].toSorted());

  const secrets = new Set([key.secret]);
  for (const [operation, mutate] of Object.entries(MUTATIONS)) {
    const stream = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
    const token = (await api.call('POST', '/api-token', { key })).json();
    const user = (await api.call('POST', '/user', { key, body: { name: `user of ${operation}` } })).json();
    const webhook = (await api.call('POST', '/webhook', { key, body: { name: 'x', url: HOOK, events: [] } })).json();
    const logId = await logged(api, webhook);
    api.time.monotonic += 2000; // the quota of signing keys is counted again
    const signingKey = (await api.call('POST', '/access-control/signing-key', { key })).json();
    const ids = {
      streamId: stream.id,
      playbackId: stream.playbackId,
      ...(await alsoMade(api, key, stream.id)),
      tokenId: token.id,
      userId: user.id,
      signingKeyId: signingKey.id,
      webhookId: webhook.id,
      logId,
    };
    const { path, body, ...expected } = mutate(ids);
    api.time.now += 10_000;
    const answer = await api.call(operation.split(' ')[0] as 'POST', path, {
      key,
      body,
      remoteAddress: '10.1.2.3',
      headers: { 'x-forwarded-for': '198.51.100.7', 'x-request-id': 'chosen-1' },
    });
    assert.ok(answer.statusCode < 300, `${operation}: ${answer.body}`);
    const [entry] = await readAudit(api, key);
    const changed = answer.statusCode === 204 ? {} : answer.json();
    assert.deepEqual(
      { ...entry, id: undefined },
      {
        id: undefined,
        createdAt: api.time.now,
        action: expected.action,
        resourceId: expected.resourceId ?? changed.id ?? changed.asset.id,
        fields: expected.fields ?? [],
        actor: { userId: key.userId, tokenId: key.id, tokenName: 'office' },
        address: '198.51.100.7',
        requestId: 'chosen-1',
      },
      operation,
    );
    const shown = [stream.streamKey, token.key, webhook.sharedSecret, signingKey.privateKey];
    const { streamKey, key: tokenKey, privateKey } = changed;
    for (const secret of [...shown, streamKey, tokenKey, privateKey]) if (secret) secrets.add(secret);
    await api.call('DELETE', `/access-control/signing-key/${signingKey.id}`, { key }); // a user may have few
  }
  const log = JSON.stringify(await readAudit(api, key));
  for (const secret of secrets) assert.ok(!log.includes(secret));
  assert.ok(secrets.size > 20);
});

interface Operation {
  readonly responses: object;
}

test('a refused request leaves no entry, and neither does a repeat', async (t) => {
  const api = await startApi(t);
  const [admin, ann] = [await api.makeKey('admin'), await api.makeKey('ann')];
  const stream = (await api.call('POST', '/stream', { key: admin, body: { name: 'x' } })).json();
  const count = (await readAudit(api, admin)).length;
  await api.call('POST', '/stream', { key: ann, body: { name: '' } });
  await api.call('DELETE', `/stream/${stream.id}`, { key: ann });
  await api.call('PATCH', `/stream/${stream.id}`, { key: ann, body: { name: 'y' } });
  await api.call('POST', '/user', { key: admin, body: { name: 'ann' } });
  await api.call('PATCH', `/user/${admin.userId}`, { key: admin, body: { admin: false } });
  assert.equal((await readAudit(api, admin)).length, count);
  const headers = { 'idempotency-key': 'a' };
  await api.call('POST', '/stream', { key: ann, body: { name: 'x' }, headers });
  await api.call('POST', '/stream', { key: ann, body: { name: 'x' }, headers });
  assert.equal((await readAudit(api, admin)).length, count + 1);
});

test('the log is read page by page, and filtered by user or resource', async (t) => {
  const api = await startApi(t);
  const [admin, ann] = [await api.makeKey('admin'), await api.makeKey('ann')];
  const ids: string[] = [];
  for (const key of [admin, ann, ann]) {
    api.time.now += 1;
    ids.unshift((await api.call('POST', '/stream', { key, body: { name: 'x' } })).json().id);
  }
  const resources = (entries: readonly Entry[]) => entries.map(({ resourceId }) => resourceId);
  assert.deepEqual(resources(await readAudit(api, admin, `&userId=${ann.userId}`)), ids.slice(0, 2));
  assert.deepEqual(resources(await readAudit(api, admin, `&resourceId=${ids[2]}`)), [ids[2]]);
  assert.deepEqual(await readAudit(api, admin, `&resourceId=${ids[2]}&userId=${ann.userId}`), []);
  const page = await api.call('GET', `/audit?limit=1&userId=${ann.userId}`, { key: admin });
  const next = /<http:\/\/[^/]+\/api([^>]+)>; rel="next"/.exec(String(page.headers.link))?.[1];
  assert.deepEqual(resources((await api.call('GET', next!, { key: admin })).json()), [ids[1]]);
  assert.equal((await api.call('GET', '/audit?userId=x', { key: admin })).statusCode, 400);
  const operator = (await readAudit(api, admin)).at(-1);
  assert.ok(operator && !('actor' in operator) && !('address' in operator), 'keys were made on the command line');
});
