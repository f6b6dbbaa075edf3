/**
 * Load: publishers that come and go, several at the same time. It answers with their number. Each further message is a number of cycles
 * for all of them together, and is answered with what went wrong once these are done.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fixtureTags } from '../../test/support/flv-file.ts';
import { RtmpClient } from '../../test/support/rtmp-client.ts';

/** Where to publish. */
export interface CyclersJob {
  readonly port: number;
  /** There is one publisher for each, at its own loopback address. */
  readonly streamKeys: readonly string[];
}

/** A second of video and audio, sent at once. */
const TAGS = fixtureTags().filter(({ timestamp }) => timestamp <= 1000);
/** How long each publishes: long enough that the server has handled the media before the end arrives. */
const PUBLISHED_MS = 50;

process.once('message', (job: CyclersJob) => {
  process.on('message', (cycles: number) => void run(job, cycles));
  process.send?.(job.streamKeys.length);
});
process.once('disconnect', () => process.exit());

async function run({ port, streamKeys }: CyclersJob, cycles: number): Promise<void> {
  const faults: string[] = [];
  let begun = 0;
  const keepOn = async (streamKey: string, index: number) => {
    while (begun < cycles) {
      begun += 1;
      await cycle(port, streamKey, `127.0.1.${index + 1}`).catch((error: unknown) => faults.push(String(error)));
    }
  };
  await Promise.all(streamKeys.map(keepOn));
  process.send?.(faults);
}

async function cycle(port: number, streamKey: string, localAddress: string): Promise<void> {
  await using client = await RtmpClient.publish(port, streamKey, 'live', { from: localAddress });
  client.tags(TAGS);
  await sleep(PUBLISHED_MS);
  client.unpublish(streamKey);
  client.end();
  await client.closed();
}
