import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPlaybackId, newSigningKeyId } from '#domain/ids.ts';
import { Secret } from '#domain/secret.ts';
import { Tickets } from './tickets.ts';

const secret = new Secret('shared by all nodes');

test('a ticket opens on every node, only for the stream that it was sealed for, and under no other secret', () => {
  const playbackId = newPlaybackId();
  const tickets = new Tickets(secret);
  for (const contents of [
    { keyId: newSigningKeyId(), expiresAtMs: 1_795_175_107_399 },
    { accessKey: 'ключ'.repeat(256) },
  ]) {
    const ticket = tickets.seal(playbackId, contents);
    assert.match(ticket, /^[\w-]{1,8192}$/);
    assert.deepEqual(tickets.open(playbackId, ticket), contents);
    assert.deepEqual(new Tickets(secret).open(playbackId, ticket), contents);
    assert.equal(tickets.open(newPlaybackId(), ticket), undefined);
    assert.equal(new Tickets(new Secret('another')).open(playbackId, ticket), undefined);
  }
});

test('a text that is not a ticket does not open', () => {
  const playbackId = newPlaybackId();
  const tickets = new Tickets(secret);
  const ticket = tickets.seal(playbackId, { accessKey: 'k' });
  const changed = Array.from(
    ticket,
    (digit, at) => ticket.slice(0, at) + (digit === 'A' ? 'B' : 'A') + ticket.slice(at + 1),
  );
  // The last digit has bits that are ignored.
  for (const each of ['', 'x', 'A'.repeat(37), 'A'.repeat(10_000), ticket.slice(1), ...changed.slice(0, -1)]) {
    assert.equal(tickets.open(playbackId, each), undefined, each);
  }
});
