/**
 * The reader of `onMetaData` messages.
 */

import { MAX_METADATA_VALUES } from '#ingest/rtmp/config.ts';
import { readMetadata } from '#ingest/rtmp/metadata.ts';
import { readAmf } from '#media/rtmp/commands.ts';
import { MESSAGE } from '#media/rtmp/message.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import { METADATA } from '../recorded.ts';
import { AMF_DICTIONARY } from '../rtmp-corpus.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

const MAX_ENCODER_LENGTH = 256;

/** Everything that is announced is bounded, whatever the message holds. */
export const metadataTarget: Target = {
  name: 'metadata',
  corpus: METADATA,
  dictionary: AMF_DICTIONARY,
  expected: [RtmpError],
  open: () => ({
    read(input) {
      const message = { type: MESSAGE.dataAmf3, streamId: 1, timestamp: 0, chunkStreamId: 4, payload: input };
      const metadata = readMetadata(readAmf(message, MESSAGE.dataAmf3, MAX_METADATA_VALUES));
      if (metadata === undefined) return 0;
      const { kinds, videoBitrateBps = 1000, audioBitrateBps = 1000, encoder = '' } = metadata.announcement;
      for (const rate of [videoBitrateBps, audioBitrateBps]) must(rate >= 1000 && rate <= 1e9, () => `${rate} bit/s`);
      must(Array.from(encoder).length <= MAX_ENCODER_LENGTH, () => `an encoder's name of ${encoder.length} characters`);
      return behaviour(kinds.size, magnitude(videoBitrateBps), magnitude(encoder.length), metadata.videoFrameRate ?? 0);
    },
  }),
};
