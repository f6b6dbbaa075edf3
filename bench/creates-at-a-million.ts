/**
 * Do creates cost the same in a store of a million streams as in an empty one, by one client and by 16 at once?
 */
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { type FilledStore, openFilledStore, receiptOf, streamOf } from './support/many-streams.ts';
import { type Answer, atLeastTimes } from './support/question.ts';
import { inRounds } from './support/statistics.ts';

const MILLION = 1_000_000;
const SECONDS = 4;
const ROUNDS = 3;
const AT_LEAST = 0.9;

/** Answers the question above. */
export async function createsAtAMillion(): Promise<readonly Answer[]> {
  await using empty = await openFilledStore(tmpdir(), 0);
  await using full = await openFilledStore(tmpdir(), MILLION);
  // The clients must not wait for writes that are left over from filling the store.
  execFileSync('sync');
  const answers: Answer[] = [];
  for (const clients of [1, 16]) {
    const { inEmpty, inFull } = await inRounds(ROUNDS, {
      inEmpty: () => createFor(empty, clients),
      inFull: () => createFor(full, clients),
    });
    const question = `durable creates beside a million streams, ${clients === 1 ? 'one client' : `${clients} clients`}`;
    answers.push(
      atLeastTimes(question, inFull, { name: 'in an empty store', value: inEmpty }, { times: AT_LEAST, unit: '/s' }),
    );
  }
  return answers;
}

/** The number of creates in a second. */
async function createFor({ store, user }: FilledStore, clients: number): Promise<number> {
  const started = performance.now();
  const until = started + SECONDS * 1000;
  let created = 0;
  const client = async () => {
    while (performance.now() < until) {
      const stream = streamOf(user);
      await store.streams.create(stream, receiptOf(stream));
      created += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (created * 1000) / (performance.now() - started);
}
