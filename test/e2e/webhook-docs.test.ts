import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EVENTS } from '#domain/events.ts';
import { newEventId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { ms } from '#lib/units.ts';
import { signatureHeaders } from '#webhooks/signature.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/12-events-and-webhooks.md'), 'utf8');

type IsGenuine = (headers: Readonly<Record<string, string>>, body: string, sharedSecret: string) => boolean;

test('the code by which the guide verifies deliveries accepts genuine ones and no others', async () => {
  const [, code] = /```js\n([\s\S]*?)```/.exec(PAGE)!;
  const url = `data:text/javascript,${encodeURIComponent(code!)}`;
  const { isGenuine } = (await import(url)) as { readonly isGenuine: IsGenuine };
  const [secret, older] = ['a shared secret', 'the one before'];
  const body = '{"event":"stream.started","name":"ü"}';
  const sign = (at: number) =>
    signatureHeaders({ id: newEventId(), at: ms(at), body }, [new Secret(secret), new Secret(older)]);
  const headers = sign(Date.now());
  assert.equal(isGenuine(headers, body, secret), true);
  assert.equal(isGenuine(headers, body, older), true);
  assert.equal(isGenuine(headers, body, 'another'), false);
  assert.equal(isGenuine(headers, `${body} `, secret), false);
  assert.equal(isGenuine({ ...headers, 'webhook-id': newEventId() }, body, secret), false);
  assert.equal(isGenuine(sign(Date.now() - 600_000), body, secret), false);
});

test('the guide names every event type, and no other', () => {
  const [, table] = /## Event types\n([\s\S]*?)\n\n/.exec(PAGE.replace('## Event types\n\n', '## Event types\n'))!;
  const cells = Array.from(table!.matchAll(/^\| (.*?) \|/gm), ([, cell]) => cell!).join(' ');
  const named = Array.from(cells.matchAll(/`([a-z_]+\.[a-z_]+)`/g), ([, name]) => name!);
  assert.deepEqual(named.toSorted(), Object.keys(EVENTS).toSorted());
});
