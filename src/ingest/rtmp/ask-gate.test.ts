import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Secret } from '#domain/secret.ts';
import type { Publication, PublicationEnd, PublishDecision, PublishRequest } from '#ingest/ingest.ts';
import { CountedLines } from '#telemetry/counted-lines.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { askGate } from './ask-gate.ts';

const REQUEST: PublishRequest = {
  streamKey: new Secret('k'),
  protocol: 'rtmp',
  remoteAddress: '192.0.2.1',
  encoder: undefined,
  disconnect: () => {},
};

function acceptance() {
  const ends: PublicationEnd[] = [];
  const publication: Publication = {
    announce: () => {},
    track: () => {},
    packet: () => {},
    silentFor: () => {},
    end: (reason) => void ends.push(reason),
  };
  return { ends, decision: { accepted: true, publication } satisfies PublishDecision };
}

const lines = new CountedLines(silentLogger);
const NEVER = new AbortController().signal;

describe('asking the gate', () => {
  it('returns its decision', async () => {
    const { decision } = acceptance();
    const gate = { publish: async () => decision };
    assert.equal(await askGate(gate, REQUEST, { signal: NEVER, lines }), decision);
  });

  for (const [what, publish] of [
    ['rejects', () => Promise.reject(new Error('no store'))],
    [
      'throws',
      () => {
        throw new Error('no store');
      },
    ],
  ] as const) {
    it(`returns a refusal when the gate ${what}`, async () => {
      const decision = await askGate({ publish }, REQUEST, { signal: NEVER, lines });
      assert.equal(!decision.accepted && decision.refusal.code, 'service_unavailable');
    });
  }

  it('does not wait beyond its signal, and withdraws an acceptance that comes too late', async () => {
    const { ends, decision } = acceptance();
    const late = Promise.withResolvers<PublishDecision>();
    const abort = new AbortController();
    const asked = askGate({ publish: () => late.promise }, REQUEST, { signal: abort.signal, lines });
    abort.abort();
    const answer = await asked;
    assert.equal(!answer.accepted && answer.refusal.code, 'service_unavailable');
    assert.deepEqual(ends, []);
    late.resolve(decision);
    await late.promise;
    await Promise.resolve();
    assert.deepEqual(ends, ['connection_lost']);
  });
});
