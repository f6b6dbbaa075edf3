import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newUserId } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import { ms } from '#lib/units.ts';
import { someStream } from '#test/support/sample-records.ts';
import { GateCalls, type GateQuestion } from './gate-calls.ts';

const stream = someStream(newUserId());

/** Gate calls to receivers that the test answers for. */
function setUp(policy: Partial<PlaybackPolicy> = {}) {
  const time = { now: 0 };
  const asked: { question: GateQuestion; answer: (isLetIn: boolean | Error) => void; signal: AbortSignal }[] = [];
  const calls = new GateCalls({
    clock: { now: () => ms(time.now), monotonic: () => ms(time.now) },
    ask: (question, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        asked.push({ question, signal, answer: (is) => (is instanceof Error ? reject(is) : resolve(is)) });
      }),
  });
  const allows = (accessKey: string, address = '198.51.100.1', webhookId = 'a') => {
    const question = {
      stream,
      playbackId: stream.playbackId,
      accessKey,
      policy: { type: 'webhook', webhookId, ...policy },
    } as const;
    const answer = calls.allows(question, address);
    answer.catch(() => undefined);
    return answer;
  };
  /** Waits until the receivers got this many calls. */
  const askedTimes = async (count: number) => {
    while (asked.length < count) await new Promise(setImmediate);
    assert.equal(asked.length, count);
  };
  return { calls, time, asked, allows, askedTimes };
}

/** Waits until nothing more can happen without the test. */
const settled = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
};

const failsWith = (code: string) => (error: unknown) => error instanceof MillraceError && error.code === code;

test('viewers with the same access key cause one call, and the answer is valid for the refresh interval', async () => {
  const { calls, time, asked, allows, askedTimes } = setUp({ refreshInterval: 100 });
  const all = Array.from({ length: 50 }, (_, viewer) => allows('k', `198.51.100.${viewer}`));
  await askedTimes(1);
  asked[0]!.answer(true);
  assert.deepEqual(new Set(await Promise.all(all)), new Set([true]));
  time.now += 89_000;
  assert.equal(await allows('k'), true);
  await settled();
  assert.equal(asked.length, 1);
  assert.equal(calls.count, 0);
});

test('an answer is renewed before it expires, without delaying the viewer, and is never valid for longer', async () => {
  const { time, asked, allows, askedTimes } = setUp({ refreshInterval: 100 });
  const first = allows('k');
  await askedTimes(1);
  asked[0]!.answer(true);
  await first;
  time.now += 91_000;
  assert.equal(await allows('k'), true, 'during a renewal, the previous answer is valid');
  await askedTimes(2);
  time.now += 9001;
  const late = allows('k');
  await settled();
  assert.equal(asked.length, 2, 'a viewer who comes after its end waits for the same call');
  asked[1]!.answer(false);
  assert.equal(await late, false);
});

test('a receiver that fails admits nobody, gets no call for a second, and does not end the time of admitted viewers', async () => {
  const { time, asked, allows, askedTimes } = setUp({ refreshInterval: 100 });
  const first = allows('new');
  await askedTimes(1);
  asked[0]!.answer(new Error('connection refused'));
  await assert.rejects(first, failsWith('playback_check_failed'));
  await assert.rejects(allows('new'), failsWith('playback_check_failed'));
  assert.equal(asked.length, 1);
  time.now += 1001;
  const second = allows('new');
  await askedTimes(2);
  asked[1]!.answer(true);
  assert.equal(await second, true);

  time.now += 95_000;
  assert.equal(await allows('new'), true);
  await askedTimes(3);
  asked[2]!.answer(new Error('connection refused'));
  await settled();
  assert.equal(await allows('new'), true, 'the previous answer has not expired');
  time.now += 5001;
  const last = allows('new');
  await askedTimes(4);
  asked[3]!.answer(new Error('connection refused'));
  await assert.rejects(
    last,
    failsWith('playback_check_failed'),
    'the previous answer has expired, so nobody is admitted',
  );
});

test('a refusal is valid for ten seconds, so that a viewer who then pays is admitted', async () => {
  const { time, asked, allows, askedTimes } = setUp();
  const first = allows('k');
  await askedTimes(1);
  asked[0]!.answer(false);
  assert.equal(await first, false);
  time.now += 9000;
  assert.equal(await allows('k'), false);
  time.now += 1001;
  const second = allows('k');
  await askedTimes(2);
  asked[1]!.answer(true);
  assert.equal(await second, true);
});

test('a slow receiver, or a client that invents access keys, delays nobody else', async () => {
  const { calls, asked, allows } = setUp();
  const invented = Array.from({ length: 40 }, (_, count) => allows(`invented ${count}`, '203.0.113.9'));
  await settled();
  assert.equal(calls.count, 32);
  for (const refused of invented.slice(32)) await assert.rejects(refused, failsWith('playback_check_failed'));

  const honest = allows('honest', '198.51.100.7');
  const elsewhere = allows('k', '203.0.113.9', 'another webhook');
  await settled();
  assert.equal(calls.count, 33);
  await assert.rejects(
    invented[0]!,
    failsWith('playback_check_failed'),
    'the oldest call of the largest network lost its place',
  );
  for (const { question, answer } of asked) if (!question.accessKey.startsWith('invented')) answer(true);
  assert.deepEqual(await Promise.all([honest, elsewhere]), [true, true]);
  for (const { answer } of asked) answer(false);
  await Promise.allSettled(invented);
  assert.equal(calls.count, 0, 'no place is lost');
});

test('for a network with too many refused access keys no calls are made for a while, and its admitted viewers go on watching', async () => {
  const { asked, allows } = setUp();
  const good = allows('good');
  await settled();
  asked[0]!.answer(true);
  await good;
  const codes = [];
  for (let count = 0; count < 125; count += 1) {
    const answer = allows(`wrong ${count}`);
    await settled();
    asked.at(-1)!.answer(false);
    codes.push(await answer.catch((error: MillraceError) => error.code));
  }
  assert.deepEqual(codes.slice(119, 122), [false, 'too_many_attempts', 'too_many_attempts']);
  assert.equal(await allows('good'), true);
});
