import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { Secret } from '#domain/secret.ts';
import { ms } from '#lib/units.ts';
import { signatureHeaders, signatureProblem, standardSecret } from './signature.ts';

const at = ms(1_790_000_000_000);
const content = { id: '0199a1c2-5b1e-7c3a-9d55-0c9b7c1f2e21', at, body: '{"event":"stream.started","ü":1}' };
const [secret, older] = [new Secret('a shared secret'), new Secret('the one before')];

test('the library of Standard Webhooks accepts a delivery with either of two secrets', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: at }); // It refuses what is older than five minutes.
  const headers = signatureHeaders(content, [secret, older]);
  for (const each of [secret, older]) new Webhook(standardSecret(each)).verify(content.body, headers);
  const other = new Webhook(standardSecret(new Secret('another')));
  assert.throws(() => other.verify(content.body, headers));
  assert.throws(() => new Webhook(standardSecret(secret)).verify(`${content.body} `, headers));
});

test("the reference service's signature is the HMAC of the body, and that of the newest secret comes first", () => {
  const [time, first, second] = signatureHeaders(content, [secret, older])['livepeer-signature']!.split(',');
  const hmac = (key: Secret) => createHmac('sha256', key.reveal()).update(content.body).digest('hex');
  assert.deepEqual([time, first, second], [`t=${at}`, `v1=${hmac(secret)}`, `v1=${hmac(older)}`]);
});

test('a delivery that was changed, is too old, or lacks a signature is refused', () => {
  const headers = signatureHeaders(content, [secret]);
  assert.equal(signatureProblem(headers, content.body, secret, at), undefined);
  assert.match(signatureProblem(headers, '{}', secret, at)!, /wrong/);
  assert.match(signatureProblem(headers, content.body, older, at)!, /wrong/);
  assert.match(signatureProblem(headers, content.body, secret, ms(at + 6 * 60_000))!, /old/);
  assert.match(signatureProblem(headers, content.body, secret, ms(at - 6 * 60_000))!, /future/);
  const wrong = { ...headers, 'livepeer-signature': 't=1,v1=00' };
  assert.match(signatureProblem(wrong, content.body, secret, at)!, /Livepeer/);
  for (const name of Object.keys(headers)) {
    assert.match(signatureProblem({ ...headers, [name]: undefined }, content.body, secret, at)!, /missing/);
  }
});
