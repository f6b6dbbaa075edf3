import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as fc from 'fast-check';
import { ms } from '#lib/units.ts';
import { BrowserTokens, isOver, SESSION_IDLE_MS, SESSION_LIFE_MS } from './browser-session.ts';
import { newBrowserSessionId, newUserId } from './ids.ts';
import { newClusterSecret, Secret } from './secret.ts';
import type { ApiKey } from './user.ts';

const tokens = new BrowserTokens(newClusterSecret());
const NOW = ms(1_795_175_107_399);

it('a token names its session until its time is over', () => {
  const id = newBrowserSessionId();
  const token = tokens.issue(id, ms(NOW + 1000));
  assert.equal(tokens.read(token, ms(NOW + 999)), id);
  assert.equal(tokens.read(token, ms(NOW + 1000)), undefined);
  assert.equal(tokens.issued(token), true);
});

it('a token of another cluster, or changed in any character, names no session', () => {
  const token = tokens.issue(newBrowserSessionId(), ms(NOW + 1000)).reveal();
  const others = new BrowserTokens(newClusterSecret());
  assert.deepEqual([others.read(new Secret(token), NOW), others.issued(new Secret(token))], [undefined, false]);
  fc.assert(
    fc.property(fc.nat(token.length - 2), fc.constantFrom('0', 'a', 'Z', '.', '-'), (at, character) => {
      if (token[at] === character) return;
      const changed = token.slice(0, at) + character + token.slice(at + 1);
      assert.equal(tokens.read(new Secret(changed), NOW), undefined, changed);
      assert.equal(tokens.issued(new Secret(changed)), false, changed);
    }),
  );
});

it('any text is read without an error', () => {
  fc.assert(fc.property(fc.string(), (text) => tokens.read(new Secret(text), NOW) === undefined));
});

it('a session is over after 12 hours without use, unless its key may only read, and after 30 days in any case', () => {
  const session = {
    id: newBrowserSessionId(),
    userId: newUserId(),
    keyId: undefined,
    secretHash: '',
    createdAt: NOW,
    lastSeen: NOW,
    address: '127.0.0.1',
  };
  const isOverAt = (sinceMs: number, key?: Pick<ApiKey, 'access'>) => isOver({ session, key }, ms(NOW + sinceMs));
  assert.equal(isOverAt(SESSION_IDLE_MS - 1), false);
  assert.equal(isOverAt(SESSION_IDLE_MS), true);
  const keyOf = (...methods: (readonly string[] | undefined)[]) => ({
    access: { rules: methods.map((each) => ({ resources: ['*'], ...(each && { methods: each }) })) },
  });
  for (const key of [
    { access: undefined },
    keyOf(),
    keyOf([]),
    keyOf(undefined),
    keyOf(['*']),
    keyOf(['get', 'publish']),
    keyOf(['get'], ['patch']),
  ]) {
    assert.equal(isOverAt(SESSION_IDLE_MS, key), true, JSON.stringify(key));
  }
  assert.equal(isOverAt(SESSION_LIFE_MS - 1, keyOf(['get'], ['get'])), false);
  assert.equal(isOverAt(SESSION_LIFE_MS, keyOf(['get'])), true);
  const busy = { session: { ...session, lastSeen: ms(NOW + SESSION_LIFE_MS - 1) }, key: undefined };
  assert.equal(isOver(busy, ms(NOW + SESSION_LIFE_MS - 1)), false);
  assert.equal(isOver(busy, ms(NOW + SESSION_LIFE_MS)), true);
});
