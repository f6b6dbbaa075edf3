import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checksOf, type Findings, serverChecks } from './checks.ts';

const GOOD: Findings = {
  origin: 'https://live.example.com',
  serverOrigin: 'https://live.example.com',
  isSecure: true,
  events: 'live',
  aheadMs: 0,
  answerMs: 40,
  ingest: ['rtmp://live.example.com/live'],
};
const failing = (change: Partial<Findings>) =>
  checksOf({ ...GOOD, ...change })
    .filter(({ tone }) => tone !== 'ok')
    .map(({ name }) => name);

test('a service that is set up well passes every check, also on the machine itself', () => {
  assert.deepEqual(failing({}), []);
  const local = { origin: 'http://localhost:8080', serverOrigin: 'http://localhost:8080', isSecure: false };
  assert.deepEqual(failing({ ...local, ingest: ['rtmp://localhost/live'] }), []);
});

test('what is wrong is named', () => {
  assert.deepEqual(failing({ serverOrigin: 'http://live.example.com' }), ['Public address']);
  const plain = { origin: 'http://192.168.1.5:8080', serverOrigin: 'http://192.168.1.5:8080', isSecure: false };
  assert.deepEqual(failing({ ...plain, ingest: ['rtmp://127.0.0.1:1935/live'] }), [
    'Encryption',
    'Address for encoders',
  ]);
  assert.deepEqual(failing({ events: 'lost', aheadMs: -90_000, answerMs: 900 }), ['Live events', 'Clock', 'Answers']);
  const { text } = checksOf({ ...GOOD, events: 'forbidden' }).find(({ name }) => name === 'Live events')!;
  assert.match(text, /^The rules of your API key/, 'no proxy is blamed for what is not allowed');
});

test('what the server finds has a name and a tone', () => {
  assert.deepEqual(
    serverChecks([
      { id: 'disk', state: 'problem', message: 'The disk is full.' },
      { id: 'certificate', state: 'unknown', message: 'There is none.' },
    ]),
    [
      { name: 'Disk', tone: 'bad', text: 'The disk is full.' },
      { name: 'Certificate', tone: 'plain', text: 'There is none.' },
    ],
  );
});
