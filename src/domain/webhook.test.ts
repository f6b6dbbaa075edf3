import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR_MS, ms } from '#lib/units.ts';
import { Secret } from './secret.ts';
import { replaceSecret, secretsOf } from './webhook.ts';

const reveal = (secrets: readonly Secret[]) => secrets.map((secret) => secret.reveal());

test('requests are signed with every secret of the last 24 hours, at most ten of them besides the present one', () => {
  const first = { sharedSecret: new Secret('0'), previousSecrets: [] };
  const second = replaceSecret(first, new Secret('1'), ms(0));
  const third = replaceSecret(second, new Secret('2'), ms(HOUR_MS));
  for (const [hours, expected] of [
    [1, ['2', '1', '0']],
    [24, ['2', '1']],
    [25, ['2']],
  ] as const) {
    assert.deepEqual(reveal(secretsOf(third, ms(hours * HOUR_MS))), expected, `after ${hours} hours`);
  }
  const again = replaceSecret(third, new Secret('0'), ms(2 * HOUR_MS));
  assert.deepEqual(reveal(secretsOf(again, ms(2 * HOUR_MS))), ['0', '2', '1'], 'a secret that is used again');

  let webhook = first as ReturnType<typeof replaceSecret>;
  for (let count = 1; count <= 15; count += 1) webhook = replaceSecret(webhook, new Secret(String(count)), ms(count));
  assert.deepEqual(
    reveal(secretsOf(webhook, ms(20))),
    Array.from({ length: 11 }, (_, index) => String(15 - index)),
  );
});
