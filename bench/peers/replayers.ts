/** Load: publishers of a clip in one process. It answers with their number once all of them are sending. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RtmpClient } from '../../test/support/rtmp-client.ts';
import { begunAt, type Clip } from '../support/clip.ts';
import { replay } from '../support/replay.ts';

/** The clip to send, and where to. */
export interface ReplayersJob {
  readonly port: number;
  /**
   * There is one publisher for each key. Each begins at another place in the clip, so that not all streams are hard to encode at the same
   * time.
   */
  readonly streamKeys: readonly string[];
  readonly clip: Clip;
  /** The time from the start of one publisher to the start of the next one. */
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

/** A message between processes turns buffers into plain arrays, which are turned back here. */
function asBuffer(tag: Clip['tags'][number]): Clip['tags'][number] {
  const { buffer, byteOffset, byteLength } = tag.body;
  return { ...tag, body: Buffer.from(buffer, byteOffset, byteLength) };
}
