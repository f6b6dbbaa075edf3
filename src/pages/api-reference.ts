/**
 * The page of the API reference. It shows the OpenAPI document with Swagger UI, whose files are large and are read when the page is first
 * opened.
 */
import { readFile } from 'node:fs/promises';
import { type AssetFolder, lazyAssets } from '#http/assets.ts';
import { escapeHtml, PAGE_POLICY, type PageContent, rootFrom } from './layout.ts';

/**
 * Only the files of this package are used: its plugin serves them uncompressed and makes the document anew at every request. The package of
 * Swagger UI itself reports each of its installations to a third party.
 */
const SWAGGER_UI = new URL('./', import.meta.resolve('@fastify/swagger-ui/package.json'));

/** Swagger UI sets styles at run time and draws inline images. */
export const REFERENCE_POLICY: string = PAGE_POLICY.replace(
  "style-src 'self'",
  "style-src 'self' 'unsafe-inline'",
).replace("img-src 'self'", "img-src 'self' data:");

/** The path of the page. `/docs` is the documentation, also when the API itself is at the root. */
export const referencePath = (apiPrefix: string): string => (apiPrefix === '' ? '/reference' : `${apiPrefix}/docs`);

/** The files of Swagger UI that the page loads. */
export async function swaggerUiAssets(): Promise<AssetFolder> {
  const { version } = JSON.parse(await readFile(new URL('package.json', SWAGGER_UI), 'utf8')) as { version: string };
  const names = ['swagger-ui.css', 'swagger-ui-bundle.js'];
  return lazyAssets(version, new Map(names.map((name) => [name, new URL(`static/${name}`, SWAGGER_UI)])));
}

/** The content of the page. @param swaggerUi the folder that the files of Swagger UI are served under, without a leading slash */
export function referenceContent(apiPrefix: string, assets: string, swaggerUi: string): Omit<PageContent, 'assets'> {
  const root = rootFrom(referencePath(apiPrefix));
  const document = `${root}${escapeHtml(`${apiPrefix}/openapi.json`.slice(1))}`;
  return {
    title: 'API reference',
    root,
    head: `
    <link rel="stylesheet" href="${root}${swaggerUi}/swagger-ui.css">
    <script src="${root}${swaggerUi}/swagger-ui-bundle.js" defer></script>
    <script type="module" src="${root}${assets}/reference.js"></script>`,
    body: `    <main class="reference" id="content">
      <div id="reference" data-document="${document}"></div>
    </main>`,
  };
}
