/**
 * Media that the test publisher encodes once, as fast as the machine can, for tests that send it themselves.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FlvFileTag, readFlvTags } from './flv-file.ts';
import { type PublisherOptions, startPublisher } from './publisher.ts';

/** Encodes the given number of seconds. Returns all FLV tags in the order in which an encoder sends them over RTMP. */
export async function recordMedia(
  options: Omit<PublisherOptions, 'url' | 'isFast'> & { readonly durationS: number },
): Promise<readonly FlvFileTag[]> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  try {
    const file = join(folder, 'recorded.flv');
    await using publisher = await startPublisher({ ...options, url: file, isFast: true });
    const { reason, messages } = await publisher.ended;
    assert.deepEqual({ reason, messages }, { reason: 'finished', messages: [] });
    return readFlvTags(await readFile(file));
  } finally {
    await rm(folder, { recursive: true });
  }
}
