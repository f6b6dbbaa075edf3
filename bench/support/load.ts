/**
 * Streams, and a process that publishes to them.
 */
import type { ApiClient, CreatedStream } from '../../test/support/api-client.ts';
import type { PublishersJob } from '../peers/publishers.ts';
import { type PeerProcess, startPeer } from './peer-process.ts';

/** Creates streams, one after another, so that they stand in lists in this order. */
export async function createStreams(
  api: ApiClient,
  count: number,
  fieldsOf: (index: number) => object = () => ({}),
): Promise<readonly CreatedStream[]> {
  const streams: CreatedStream[] = [];
  for (let index = 0; index < count; index += 1) streams.push(await api.createStream(fieldsOf(index)));
  return streams;
}

/** Publishes to each stream until the process is disposed, and waits until all publishers are sending. */
export async function publishTo(
  port: number,
  streams: readonly Pick<CreatedStream, 'streamKey'>[],
  media: PublishersJob['media'],
  { apartMs }: { readonly apartMs?: number } = {},
): Promise<PeerProcess> {
  const streamKeys = streams.map(({ streamKey }) => streamKey);
  return await startPeer('publishers.ts', { port, streamKeys, media, apartMs } satisfies PublishersJob);
}
