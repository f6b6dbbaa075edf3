/**
 * `GET /ingest`.
 */

import type { ApiRoute } from '#api/api.ts';
import { answers } from '#api/schemas/answers.ts';
import { IngestSchema } from '#api/schemas/ingest.ts';
import { ref } from '#api/schemas/ref.ts';
import { Type } from '#lib/schema.ts';

const schema = {
  operationId: 'getIngest',
  summary: 'Find out where to publish',
  description: 'Lists the addresses to publish to. Needs no API key.',
  tags: ['ingest'],
  security: [],
  response: answers(200, Type.Array(ref(IngestSchema)), 400),
};

/** Lists the publish addresses of this server, each with the address to play from. Anybody may ask. */
export const getIngest: ApiRoute = (api, { publicUrl, publishUrls }) => {
  api.get('/ingest', { schema }, (request) => {
    const base = publicUrl(request);
    return publishUrls(new URL(base).hostname).map((ingest) => ({
      ingest,
      playback: `${base}/hls`,
      base,
      origin: base,
    }));
  });
};
