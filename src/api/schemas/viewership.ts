/**
 * The number of viewers of a stream.
 */
import { Type } from '#lib/schema.ts';
import { PLAYBACK_ID } from './sample-ids.ts';

/** The number of viewers of one playback id at this moment. */
export const ViewershipSchema = Type.Object(
  {
    playbackId: Type.String(),
    viewCount: Type.Integer({
      description: 'The number of distinct pairs of address and user agent that asked for a playlist in the last 10 s.',
    }),
    errorRate: Type.Number({
      description: 'Always 0: errors in players are not measured. Clients of the reference service need the field.',
    }),
  },
  { $id: 'Viewership', examples: [{ playbackId: PLAYBACK_ID, viewCount: 17, errorRate: 0 }] },
);
