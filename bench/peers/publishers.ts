/** Load: many publishers in one process. It answers with their number once all of them are sending. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RtmpClient } from '../../test/support/rtmp-client.ts';
import { begunAt, type Clip } from '../support/clip.ts';
import { replay, sendPaced } from '../support/sender.ts';
import type { MediaShape } from '../support/stamped-media.ts';

/** What to send, and where to. */
export interface PublishersJob {
  readonly port: number;
  /** There is one publisher for each key. */
  readonly streamKeys: readonly string[];
  /** Stamped media of a shape, or a clip. Each publisher begins at another place in the clip, so that not all streams are hard to encode at once. */
  readonly media: MediaShape | Clip;
  /** The time from the start of one publisher to the start of the next one. By default they start within the time of one frame. */
  readonly apartMs: number | undefined;
}

process.once('message', (job: PublishersJob) => void publish(job));
process.once('disconnect', () => process.exit());

async function publish({ port, streamKeys, media, apartMs }: PublishersJob): Promise<void> {
  const clip = 'tags' in media ? received(media) : undefined;
  // They send until this process ends.
  const { signal } = new AbortController();
  const count = streamKeys.length;
  for (const [index, streamKey] of streamKeys.entries()) {
    const client = await RtmpClient.publish(port, streamKey);
    if (clip !== undefined) void replay(client, streamKey, begunAt(clip, index / count), { signal });
    else if ('fps' in media) void sendPaced(client, streamKey, media, { signal });
    // Encoders do not all send their frames at the same moment.
    if (index < count - 1) await sleep(apartMs ?? ('fps' in media ? 1000 / media.fps / count : 0));
  }
  process.send?.(count);
}

/** A message between processes turns buffers into plain arrays, which are turned back here. */
function received({ head, tags, lengthMs }: Clip): Clip {
  const asBuffer = (tag: Clip['tags'][number]) => {
    const { buffer, byteOffset, byteLength } = tag.body;
    return { ...tag, body: Buffer.from(buffer, byteOffset, byteLength) };
  };
  return { head: head.map(asBuffer), tags: tags.map(asBuffer), lengthMs };
}
