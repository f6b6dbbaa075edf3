/**
 * Load: publishers that come and go, several at the same time. Answers with their number; each further message is a number of cycles
 * to go through together, answered once they are done with what went wrong.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fixtureTags } from '../../test/support/flv-file.ts';
import { RtmpClient } from '../../test/support/rtmp-client.ts';

/** Where to publish. */
export interface CyclersJob {
  readonly port: number;
  /** One publisher for each, at its own loopback address. */
  readonly streamKeys: readonly string[];
}

/** A second of video and audio, sent at once. */
const TAGS = fixtureTags().filter(({ timestamp }) => timestamp <= 1000);
/** Long enough that the server has taken the media in before it hears of the end. */
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
