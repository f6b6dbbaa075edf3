import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { PresentedKeys } from './presented-key.ts';

test('a connection that presents the same key again gets the same secret, and any other key gets another one', () => {
  const keys = new PresentedKeys();
  const [socket, other] = [new Socket(), new Socket()];
  const of = (authorization: string, connection = socket) =>
    keys.of({ headers: { authorization }, socket: connection });
  const first = of('Bearer one');
  assert.equal(of('Bearer one'), first);
  assert.notEqual(of('Bearer one', other), first);
  for (const text of ['two', 'one2', 'on', 'One']) assert.equal(of(`Bearer ${text}`).reveal(), text, text);
  assert.equal(of('Bearer one').reveal(), 'one');
  assert.throws(() => of(''), /needs an API key/);
});
