/** Load: many publishers of stamped media in one process. Answers with their number once all are sending. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RtmpClient } from '../../test/support/rtmp-client.ts';
import { sendPaced } from '../support/sender.ts';
import type { MediaShape } from '../support/stamped-media.ts';

/** What to send where. */
export interface SendersJob {
  readonly port: number;
  /** One publisher for each. */
  readonly streamKeys: readonly string[];
  readonly shape: MediaShape;
  /** The far end only reads: send the same bytes without waiting for answers it never gives. */
  readonly bare: boolean;
}

process.once('message', (job: SendersJob) => void send(job));
process.once('disconnect', () => process.exit());

async function send({ port, streamKeys, shape, bare }: SendersJob): Promise<void> {
  // They send until this process ends.
  const { signal } = new AbortController();
  for (const streamKey of streamKeys) {
    const client = bare ? await RtmpClient.open(port) : await RtmpClient.publish(port, streamKey);
    void sendPaced(client, streamKey, shape, { signal });
    // Encoders do not all send their frames at the same moment.
    await sleep(1000 / shape.fps / streamKeys.length);
  }
  process.send?.(streamKeys.length);
}
