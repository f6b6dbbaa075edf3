import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { Secret } from '#domain/secret.ts';
import { VIEWERS_HEADER, ViewerNames } from './viewer.ts';

test('a request whose header only a node can have made is reported once as that of a node, and tells which views are not counted yet', () => {
  const asked: FastifyRequest[] = [];
  const secret = new Secret('shared by all nodes');
  const viewers = new ViewerNames(secret, (request) => asked.push(request));
  const named = [
    { name: 'ann', isNew: true },
    { name: 'bob', isNew: false },
  ];
  const requestWith = (headers: object) => ({ headers }) as FastifyRequest;
  const ofNode = requestWith(new ViewerNames(secret).header('stream', named));
  const invented = requestWith({ [VIEWERS_HEADER]: 'ann.invented' });
  for (const _ of [1, 2]) assert.deepEqual(viewers.told(ofNode, 'stream'), named);
  for (const request of [invented, requestWith({})]) assert.equal(viewers.told(request, 'stream'), undefined);
  assert.deepEqual(asked, [ofNode]);
});

test('a node of an earlier version can read the names of viewers, and all viewers that it names are new', () => {
  const secret = new Secret('shared by all nodes');
  const viewers = new ViewerNames(secret);
  const { [VIEWERS_HEADER]: header } = viewers.header('stream', [
    { name: 'bob', isNew: false },
    { name: 'ann', isNew: true },
  ]);
  assert.match(header!, /^ann,bob\.[\w-]{43}$/);
  const earlier = { headers: { [VIEWERS_HEADER]: header } } as unknown as FastifyRequest;
  assert.deepEqual(viewers.told(earlier, 'stream'), [
    { name: 'ann', isNew: true },
    { name: 'bob', isNew: true },
  ]);
});

test('an address that a request names for a viewer counts only when a node made the request', () => {
  const secret = new Secret('shared by all nodes');
  const viewers = new ViewerNames(secret);
  const requestWith = (headers: object) => ({ headers, ip: '192.0.2.1' }) as FastifyRequest;
  const asked = { headers: {}, ip: '198.51.100.7' } as FastifyRequest;
  const passedOn = new ViewerNames(secret).passingOn(asked, 'stream');
  assert.equal(viewers.addressOf(requestWith(passedOn), 'stream'), '198.51.100.7');
  assert.equal(viewers.addressOf(requestWith(passedOn), 'another stream'), '192.0.2.1');
  const { [VIEWERS_HEADER]: _, ...unproved } = passedOn;
  assert.equal(viewers.addressOf(requestWith(unproved), 'stream'), '192.0.2.1');
  const ofMany = new ViewerNames(secret).header('stream', [{ name: 'ann', isNew: true }]);
  assert.equal(viewers.addressOf(requestWith(ofMany), 'stream'), '192.0.2.1');
});
