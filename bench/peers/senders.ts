/** Load: many publishers of stamped media in one process. It answers with their number once all of them are sending. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RtmpClient } from '../../test/support/rtmp-client.ts';
import { sendPaced } from '../support/sender.ts';
import type { MediaShape } from '../support/stamped-media.ts';

/** The media to send, and where to. */
export interface SendersJob {
  readonly port: number;
  /** There is one publisher for each key. */
  readonly streamKeys: readonly string[];
  readonly shape: MediaShape;
  /** Whether the receiver only reads. Then the same bytes are sent without waiting for answers, because it gives none. */
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
