/**
 * The attackers, in a process of their own. Answers with 1 once the attack runs, and the next message with what was sent until then.
 */
import type { Sent, Target } from '../attacks/attack.ts';
import { ATTACKS } from '../attacks/attacks.ts';

/** What to do, and from where. */
export interface AttackJob {
  /** A name in {@link ATTACKS}. */
  readonly attack: string;
  readonly target: Target;
  /** Loopback addresses. */
  readonly addresses: readonly string[];
}

process.once('message', (job: AttackJob) => void run(job));
process.once('disconnect', () => process.exit());

async function run({ attack, target, addresses }: AttackJob): Promise<void> {
  const sent: Sent = { requests: 0, bytes: 0, connections: 0 };
  const stop = new AbortController();
  process.once('message', () => stop.abort());
  process.send?.(1);
  await ATTACKS[attack]!({ target, addresses, sent, signal: stop.signal });
  process.send?.(sent);
}
