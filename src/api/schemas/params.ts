/**
 * Parts of paths.
 */
import { Type } from 'typebox';

const STREAM_ID = '66e2161c-7670-4d05-b71d-da2d6979556f';

/** A stream. */
export const streamIdParams = Type.Object({
  id: Type.String({ description: 'The id of the stream.', examples: [STREAM_ID] }),
});

/** A session. */
export const sessionIdParams = Type.Object({
  id: Type.String({ description: 'The id of the session.', examples: ['0190d2f0-1f6e-7c3a-9a51-3c2f6a1b7e20'] }),
});

/** A stream by what viewers know. */
export const playbackIdParams = Type.Object({
  playbackId: Type.String({ description: 'The playbackId of the stream.', examples: ['5v8c2hq0jn6t1wkz'] }),
});

/** A stream by what its publisher knows. */
export const streamKeyParams = Type.Object({
  streamKey: Type.String({ description: 'The streamKey.', examples: ['7f3q-x0m2-9kdp-4rtz'] }),
});

/** Anything that names a stream. */
export const anyIdParams = Type.Object({
  id: Type.String({ description: 'An id, streamKey or playbackId.', examples: [STREAM_ID] }),
});
