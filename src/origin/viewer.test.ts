import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { Secret } from '#domain/secret.ts';
import { VIEWERS_HEADER, ViewerNames } from './viewer.ts';

test('a request whose header only a node can have made is reported as that of a node, once', () => {
  const asked: FastifyRequest[] = [];
  const secret = new Secret('shared by all nodes');
  const viewers = new ViewerNames(secret, (request) => asked.push(request));
  const requestWith = (headers: object) => ({ headers }) as FastifyRequest;
  const ofNode = requestWith(new ViewerNames(secret).header('stream', ['ann', 'bob']));
  const invented = requestWith({ [VIEWERS_HEADER]: 'ann.invented' });
  for (const _ of [1, 2]) assert.deepEqual(viewers.told(ofNode, 'stream'), ['ann', 'bob']);
  for (const request of [invented, requestWith({})]) assert.equal(viewers.told(request, 'stream'), undefined);
  assert.deepEqual(asked, [ofNode]);
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
  assert.equal(
    viewers.addressOf(requestWith(new ViewerNames(secret).header('stream', ['ann'])), 'stream'),
    '192.0.2.1',
  );
});
