/**
 * Uses the client that Hey API makes, as an application would; the test compiles it and runs it against a server.
 */
import { createClient, createConfig } from './generated/client/client/index.js';
import { createStream, getIngest, getStream } from './generated/client/sdk.gen.js';

export async function createAndRead(baseUrl: string, apiKey: string) {
  const client = createClient(createConfig({ baseUrl, auth: apiKey }));
  const created = await createStream({
    client,
    body: { name: 'made by a generated client', profiles: [] },
    throwOnError: true,
  });
  const read = await getStream({ client, path: { id: created.data.id }, throwOnError: true });
  const unknown = await getStream({ client, path: { id: 'unknown' } });
  const ingest = await getIngest({ client, throwOnError: true });
  return { created: created.data, read: read.data, code: unknown.error?.code, ingest: ingest.data };
}
