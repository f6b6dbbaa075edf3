/**
 * Do creates cost the same in a store of a million streams as in an empty one, by one client and by 16 at once?
 */
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { type FilledStore, openFilledStore, receiptOf, streamOf } from './support/many-streams.ts';
import { type Answer, show } from './support/question.ts';
import { median } from './support/statistics.ts';

const MILLION = 1_000_000;
const SECONDS = 4;
const ROUNDS = 3;
const AT_LEAST = 0.9;

/** Answers it. */
export async function createsAtAMillion(): Promise<readonly Answer[]> {
  await using empty = await openFilledStore(tmpdir(), 0);
  await using full = await openFilledStore(tmpdir(), MILLION);
  // The clients must not wait for writes that are left over from filling the store.
  execFileSync('sync');
  const answers: Answer[] = [];
  for (const clients of [1, 16]) {
    const rates: number[] = [];
    const peers: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      peers.push(await createFor(empty, clients));
      rates.push(await createFor(full, clients));
    }
    const [ours, theirs] = [median(rates), median(peers)];
    answers.push({
      question: `durable creates beside a million streams, ${clients === 1 ? 'one client' : `${clients} clients`}`,
      measured: `${show(ours)} /s`,
      against: `in an empty store ${show(theirs)} /s`,
      ratio: ours / theirs,
      mustReach: `>= ${AT_LEAST}x`,
      reached: ours >= AT_LEAST * theirs,
    });
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
