/**
 * The OpenAPI 3.1 document at `openapi.json`. `docs/generate.ts` makes it from the schemas that check requests, and writes it to a file:
 * making it in every server would take a tenth of the time to start, and memory for as long as the server runs.
 */
import { readFile } from 'node:fs/promises';
import { assetOf, type PreparedFile, sendAsset } from '#http/assets.ts';
import type { ApiInstance } from './api.ts';

const FILE = new URL('../../docs/reference/openapi.json', import.meta.url);

/** Serves the document. */
export function addDocumentation(api: ApiInstance, { prefix }: { readonly prefix: string }): void {
  let prepared: Promise<PreparedFile> | undefined;
  api.get('/openapi.json', async (_request, reply) => {
    prepared ??= prepare(prefix).catch((error: unknown) => {
      prepared = undefined; // the next request reads it again
      throw error;
    });
    return await sendAsset(reply.header('cache-control', 'no-cache'), await prepared);
  });
}

/**
 * Reads the document, and says in it where the API is. It is not parsed for that: it has nearly a megabyte, and parsing and writing it would
 * block the event loop for 14 ms.
 */
async function prepare(prefix: string): Promise<PreparedFile> {
  const document = await readFile(FILE);
  const servers = JSON.stringify([{ url: prefix === '' ? '/' : prefix }]);
  return assetOf('openapi.json', Buffer.concat([Buffer.from(`{"servers":${servers},`), document.subarray(1)]));
}
