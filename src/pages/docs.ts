/**
 * The documentation under `/docs`, made from the Markdown files of the repository.
 *
 * Nothing of it is read before somebody opens it, so that it costs neither time at the start nor memory. All pages are rendered with the
 * first request, because every page lists the titles of the others. A thread does that, so that live media does not wait for it.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { assetOf, type PreparedFile, sendAsset } from '#http/assets.ts';
import { bareEnvironment } from '#lib/bare-environment.ts';
import { DOC_GROUPS, imageSlugOf, imageUrl, rootOf } from './doc-files.ts';
import type { RenderedDocs, RenderedPage } from './docs/worker.ts';
import { escapeHtml, PAGE_HEADERS, type PageContent } from './layout.ts';

/** What {@link docsRoutes} needs. */
export interface DocsOptions {
  readonly render: (content: Omit<PageContent, 'assets'>) => PreparedFile;
  /** The path of the API reference, for links. */
  readonly apiReference: string;
}

/** Adds `/docs`, a page for every file, the images they show, and the index of the search. */
export async function docsRoutes(app: FastifyInstance, options: DocsOptions): Promise<void> {
  const opened = new Map<string, Promise<Library>>();
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  const library = () =>
    remembered(opened, 'library', async () => new Library(options, await renderDocs(closing.signal)));
  app.get('/docs', async (_request, reply) =>
    sendAsset(reply.headers(PAGE_HEADERS), await (await library()).contents()),
  );
  app.get('/docs/search.json', async (_request, reply) => sendAsset(reply, await (await library()).searchIndex()));
  app.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) => {
    const found = await (await library()).find(request.params['*']);
    if (found === undefined) {
      throw new MillraceError('not_found', 'The documentation has no such page; see its table of contents.');
    }
    return await sendAsset(found.type.startsWith('text/html') ? reply.headers(PAGE_HEADERS) : reply, found);
  });
}

/** Renders every page, in a thread that ends with it. */
async function renderDocs(signal: AbortSignal): Promise<RenderedDocs> {
  const worker = new Worker(new URL('./docs/worker.ts', import.meta.url), {
    name: 'docs',
    env: bareEnvironment(),
    execArgv: [],
  });
  try {
    const [rendered] = (await once(worker, 'message', { signal })) as [RenderedDocs];
    return rendered;
  } finally {
    await worker.terminate();
  }
}

/** Makes each page when it is first requested, and keeps it. */
class Library {
  readonly #options: DocsOptions;
  readonly #pages: ReadonlyMap<string, RenderedPage>;
  readonly #search: string;
  readonly #assets = new Map<string, Promise<PreparedFile>>();

  constructor(options: DocsOptions, { pages, search }: RenderedDocs) {
    this.#options = options;
    this.#pages = new Map(pages.map((page) => [page.slug, page]));
    this.#search = search;
  }

  /** The page or image under an address below `/docs/`; undefined when there is none. */
  async find(slug: string): Promise<PreparedFile | undefined> {
    const page = this.#pages.get(slug);
    if (page !== undefined) return await this.#asset(slug, async () => this.#page(page));
    const isImage = imageSlugOf(`docs/${slug}`) === slug;
    return isImage ? await this.#asset(slug, () => image(slug)).catch(noFile) : undefined;
  }

  /** The table of contents. */
  contents(): Promise<PreparedFile> {
    return this.#asset('', async () => {
      const pages = [...this.#pages.values()];
      const lists = DOC_GROUPS.map((group) => {
        const items = pages
          .filter((page) => page.group === group)
          .map(({ slug, title }) => `<li><a href="docs/${slug}">${escapeHtml(title)}</a></li>`);
        if (group === 'Reference') items.unshift(`<li><a href="${this.#apiReference('')}">API operations</a></li>`);
        return `<section><h2>${group}</h2><ul>${items.join('')}</ul></section>`;
      });
      const body = `    <main class="plain contents" id="content">
      <h1>Documentation</h1>
      <p class="lead">For the version of Millrace that this server runs.</p>
      ${lists.join('\n      ')}
    </main>`;
      return this.#options.render({ title: 'Documentation', root: '', body, hasSearch: true });
    });
  }

  /** The index for `web/site/search.js`. */
  searchIndex(): Promise<PreparedFile> {
    return this.#asset('search.json', async () => assetOf('search.json', this.#search));
  }

  #page(page: RenderedPage): PreparedFile {
    const { title, html, headings } = page;
    const root = rootOf(page);
    const toc = headings.map(
      ({ id, depth, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
    );
    const body = `    <div class="docs">
      <nav class="pages" aria-label="Documentation">
        <details><summary>All pages</summary>${this.#navigation(page)}</details>
      </nav>
      <main class="article" id="content">
${html}      </main>
      ${toc.length > 1 ? `<nav class="toc" aria-label="On this page"><h2>On this page</h2><ul>${toc.join('')}</ul></nav>` : ''}
    </div>`;
    return this.#options.render({ title: `${title} · Documentation`, root, body, hasSearch: true });
  }

  /** Links to every page. The decisions, which are many, are listed on their own pages only. */
  #navigation(current: RenderedPage): string {
    const root = rootOf(current);
    return DOC_GROUPS.map((group) => {
      const items = [...this.#pages.values()]
        .filter((page) => page.group === group && (group !== 'Decisions' || current.group === group))
        .map(({ slug, title }) => {
          const isCurrent = slug === current.slug ? ' aria-current="page"' : '';
          return `<li><a href="${root}docs/${slug}"${isCurrent}>${escapeHtml(title)}</a></li>`;
        });
      if (group === 'Reference') items.unshift(`<li><a href="${this.#apiReference(root)}">API operations</a></li>`);
      return items.length === 0 ? '' : `<h2>${group}</h2><ul>${items.join('')}</ul>`;
    }).join('');
  }

  #asset(slug: string, make: () => Promise<PreparedFile>): Promise<PreparedFile> {
    return remembered(this.#assets, slug, make);
  }

  #apiReference(root: string): string {
    return `${root}${escapeHtml(this.#options.apiReference.slice(1))}`;
  }
}

const image = async (slug: string): Promise<PreparedFile> => assetOf(slug, await readFile(imageUrl(slug)));

/** Returns undefined for a file that does not exist. */
function noFile(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** Makes a value once, and remembers it. A failure is not remembered. */
function remembered<Value>(
  known: Map<string, Promise<Value>>,
  name: string,
  make: () => Promise<Value>,
): Promise<Value> {
  const value = known.get(name) ?? make();
  if (!known.has(name)) {
    known.set(name, value);
    value.catch(() => known.delete(name));
  }
  return value;
}
