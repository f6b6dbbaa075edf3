/**
 * Asks the gate for a decision, and gives a refusal when the gate fails or does not answer.
 */
import { NO_DECISION, type PublishDecision, type PublishGate, type PublishRequest } from '#ingest/ingest.ts';
import type { CountedLevel, CountedLines } from '#telemetry/counted-lines.ts';

/**
 * Returns the gate's decision, or a refusal when the gate fails or `signal` aborts first. An acceptance that comes later is withdrawn.
 * Never rejects.
 */
export async function askGate(
  gate: Pick<PublishGate, 'publish'>,
  request: PublishRequest,
  { signal, lines }: { signal: AbortSignal; lines: CountedLines },
): Promise<PublishDecision> {
  const note = (level: CountedLevel, message: string, example: object = {}) =>
    lines.note(level, message, {}, { address: request.remoteAddress, example });
  const asked = Promise.try(() => gate.publish(request, { signal }));
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([asked, aborted.promise]);
  } catch (error) {
    // When the signal aborts for any other reason, nobody waits for the answer.
    if (signal.reason?.name === 'TimeoutError') note('warn', 'publish gate gave no answer in time');
    else if (!signal.aborted) note('error', 'publish gate failed', { err: error });
    asked.then(withdraw, () => {});
    return NO_DECISION;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function withdraw(decision: PublishDecision): void {
  if (decision.accepted) decision.publication.end('connection_lost');
}
