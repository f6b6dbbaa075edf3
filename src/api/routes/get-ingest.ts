/**
 * `GET /ingest`.
 */
import { Type } from 'typebox';
import type { ApiRoute } from '#api/api.ts';
import { answers } from '#api/schemas/answers.ts';
import { IngestSchema } from '#api/schemas/ingest.ts';
import { ref } from '#api/schemas/ref.ts';

const RTMP_DEFAULT_PORT = 1935;

const schema = {
  summary: 'Find out where to publish',
  description: 'Needs no API key.',
  tags: ['ingest'],
  response: answers(200, Type.Array(ref(IngestSchema))),
};

/** Tells anybody the addresses streams are published to and played from, all on the host the request was sent to. */
export const getIngest: ApiRoute = (api, { publicUrl, rtmpPort }) => {
  api.get('/ingest', { schema }, (request) => {
    const base = publicUrl(request);
    const port = rtmpPort();
    const rtmpHost = new URL(base).hostname + (port === RTMP_DEFAULT_PORT ? '' : `:${port}`);
    return [{ ingest: `rtmp://${rtmpHost}/live`, playback: `${base}/hls`, base, origin: base }];
  });
};
