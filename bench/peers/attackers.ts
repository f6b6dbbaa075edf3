/**
 * The attackers, in a process of their own. It answers with 1 once the attack runs. The next message ends the attack, and is answered with
 * what was sent until then.
 */
import type { Sent, Target } from '../attacks/attack.ts';
import { ATTACKS } from '../attacks/attacks.ts';

/** The attack to run, on whom, and from where. */
export interface AttackJob {
  /** The name of an attack in {@link ATTACKS}. */
  readonly attack: string;
  readonly target: Target;
  /** The loopback addresses it comes from. */
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
