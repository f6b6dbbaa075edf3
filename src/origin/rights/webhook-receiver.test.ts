import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { newUserId } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import { Secret } from '#domain/secret.ts';
import type { Webhook } from '#domain/webhook.ts';
import { systemClock } from '#lib/clock.ts';
import { DestinationGuard } from '#lib/destination-guard.ts';
import { ms } from '#lib/units.ts';
import { someStream } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { loadClient } from '#webhooks/http-client.ts';
import { Sender } from '#webhooks/sender.ts';
import { signatureProblem } from '#webhooks/signature.ts';
import { createAskReceiver } from './webhook-receiver.ts';

// The time limit of the first request is not meant for loading the HTTP client.
await loadClient();

const stream = someStream(newUserId());
const AT = 1_795_175_107_399;
const policy: PlaybackPolicy = { type: 'webhook', webhookId: 'w', webhookContext: { plan: 'gold' } };
const question = { stream, playbackId: stream.playbackId, policy, accessKey: 'k' };

/** The request that was sent. */
interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Calls a receiver that answers with this status, and returns the request and the verdict. @param status undefined for no answer */
async function ask(status: number | undefined, body = '', previousSecrets: Webhook['previousSecrets'] = []) {
  const sent: Post[] = [];
  const webhook = { url: 'https://example.com/gate', sharedSecret: new Secret('s'), previousSecrets };
  const askReceiver = createAskReceiver({
    store: {
      webhooks: {
        get: async (id, owner) => (id === 'w' && owner === stream.userId ? (webhook as Webhook) : undefined),
      },
    },
    sender: {
      post: async (url, post) => {
        sent.push({ url, headers: post.headers, body: post.body });
        return {
          statusCode: status,
          body: Buffer.from(body),
          isComplete: true,
          retryAfter: undefined,
          durationMs: 1,
          error: undefined,
        };
      },
    },
    clock: { now: () => ms(AT), monotonic: () => ms(0) },
  });
  return { sent, verdict: await askReceiver(question, new AbortController().signal) };
}

test('the receiver is sent the access key and the context, signed as deliveries of events are', async () => {
  const [{ url, headers, body }] = (await ask(204)).sent as [Post];
  assert.equal(url, 'https://example.com/gate');
  const expected = { context: { plan: 'gold' }, accessKey: 'k', playbackId: stream.playbackId, timestamp: AT };
  assert.deepEqual(JSON.parse(body), expected);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(signatureProblem(headers, body, new Secret('s'), ms(AT)), undefined);
  assert.ok(signatureProblem(headers, body, new Secret('other'), ms(AT)));
});

test('while the secret of a webhook is being replaced, a receiver that verifies with either secret accepts the call', async () => {
  const accepts = async (secret: string, until: number) => {
    const [{ headers, body }] = (await ask(204, '', [{ secret: new Secret('old'), until: ms(until) }])).sent as [Post];
    return signatureProblem(headers, body, new Secret(secret), ms(AT)) === undefined;
  };
  assert.deepEqual([await accepts('s', AT + 1), await accepts('old', AT + 1)], [true, true]);
  assert.deepEqual([await accepts('s', AT), await accepts('old', AT)], [true, false], 'the overlap is over');
});

test('only a 2xx status admits a viewer, and a receiver may refuse in its body but not admit', async () => {
  const answers: readonly (readonly [number, string, boolean])[] = [
    [200, '', true],
    [204, '', true],
    [200, '<html>', true],
    [200, '{"ret":200}', true],
    [200, '{"ret":403}', false],
    [200, '{"ret":"403"}', false],
    [200, '{"ret":null}', false],
    [200, '{"ret":{}}', false],
    [200, '\uFEFF {"ret":403}', false],
    [301, '', false],
    [401, '{"ret":200}', false],
    [404, '', false],
    [429, '', false],
  ];
  for (const [status, body, verdict] of answers) {
    assert.equal((await ask(status, body)).verdict, verdict, `${status} ${body}`);
  }
});

test('a receiver that fails, or a deleted webhook, gives no verdict', async () => {
  await assert.rejects(ask(undefined));
  await assert.rejects(ask(500));
  await assert.rejects(ask(503, '{"ret":200}'));
  const gone = createAskReceiver({
    store: { webhooks: { get: async () => undefined } },
    sender: { post: () => assert.fail('nothing should be sent') },
    clock: { now: () => ms(0), monotonic: () => ms(0) },
  });
  await assert.rejects(gone(question, new AbortController().signal), /does not exist/);
});

/** Calls a receiver over a connection, and returns the verdict. */
async function askOver(t: TestContext, listener: RequestListener): Promise<boolean> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sender = new Sender({ guard: new DestinationGuard({ allowPrivate: true }), clock: systemClock });
  t.after(async () => {
    await sender[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const webhook = { url, sharedSecret: new Secret('s'), previousSecrets: [] as const };
  const askReceiver = createAskReceiver({
    store: { webhooks: { get: async () => webhook as unknown as Webhook } },
    sender,
    clock: systemClock,
  });
  return askReceiver(question, new AbortController().signal);
}

/**
 * Calls a receiver until it gives a verdict. It has only a few seconds each time, and it runs in this process, which may be held up for as
 * long.
 */
async function verdictOver(t: TestContext, listener: RequestListener): Promise<boolean> {
  const attempt = () =>
    askOver(t, listener).then(
      (verdict) => ({ verdict }),
      () => undefined,
    );
  const { verdict } = await waitFor(attempt, { what: 'a verdict' });
  return verdict;
}

test('a refusal at the end of a long body refuses', async (t) => {
  const text = JSON.stringify({ message: 'x'.repeat(16_000), ret: 403 });
  assert.equal(await verdictOver(t, (_, response) => response.end(text)), false);
});

test('a successful status whose body is too long, slow or broken off gives no verdict', async (t) => {
  const tooLong = JSON.stringify({ message: 'x'.repeat(20_000), ret: 403 });
  await assert.rejects(askOver(t, (_, response) => response.end(tooLong)));
  await assert.rejects(askOver(t, (_, response) => void response.write('{"ret":')));
  await assert.rejects(askOver(t, (_, response) => response.flushHeaders()));
  const breakOff: RequestListener = (_, response) => response.write('{"ret":', () => response.destroy());
  await assert.rejects(askOver(t, breakOff));
  // Without a length, the end of the connection is the end of the body.
  const http10: RequestListener = ({ socket }) => socket.end('HTTP/1.0 200 OK\r\n\r\n{"ret":4');
  await assert.rejects(askOver(t, http10));
});

test('a refusing status refuses, even when its body does not arrive', async (t) => {
  assert.equal(await verdictOver(t, (_, response) => void response.writeHead(403).write('part')), false);
});
