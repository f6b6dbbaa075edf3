/** Load: publishers of a clip in one process. Answers with their number once all are sending. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RtmpClient } from '../../test/support/rtmp-client.ts';
import { begunAt, type Clip } from '../support/clip.ts';
import { replay } from '../support/replay.ts';

/** What to send where. */
export interface ReplayersJob {
  readonly port: number;
  /** One publisher for each, at its own place in the clip: no two streams are hard at the same time. */
  readonly streamKeys: readonly string[];
  readonly clip: Clip;
  /** From one publisher's start to the next one's. */
  readonly apartMs: number;
}

process.once('message', (job: ReplayersJob) => void send(job));
process.once('disconnect', () => process.exit());

async function send({ port, streamKeys, clip, apartMs }: ReplayersJob): Promise<void> {
  const whole = { ...clip, head: clip.head.map(asBuffer), tags: clip.tags.map(asBuffer) };
  // They send until this process ends.
  const { signal } = new AbortController();
  for (const [index, streamKey] of streamKeys.entries()) {
    if (index > 0) await sleep(apartMs);
    const own = begunAt(whole, index / streamKeys.length);
    void replay(await RtmpClient.publish(port, streamKey), streamKey, own, { signal });
  }
  process.send?.(streamKeys.length);
}

/** A message between processes makes plain arrays of buffers. */
function asBuffer(tag: Clip['tags'][number]): Clip['tags'][number] {
  const { buffer, byteOffset, byteLength } = tag.body;
  return { ...tag, body: Buffer.from(buffer, byteOffset, byteLength) };
}
