/**
 * The operations of the API. To add one, write its file and name it here.
 */
import type { ApiRoute } from './api.ts';
import { createStream } from './routes/create-stream.ts';
import { getIngest } from './routes/get-ingest.ts';
import { getPlayback } from './routes/get-playback.ts';
import { getStream } from './routes/get-stream.ts';
import { listStreams } from './routes/list-streams.ts';

/** Every operation, in the order of the documentation. */
export const routes: readonly ApiRoute[] = [createStream, getStream, listStreams, getPlayback, getIngest];
