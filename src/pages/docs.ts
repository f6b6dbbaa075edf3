/**
 * The documentation under `/docs`, made from the Markdown files of the repository.
 *
 * Nothing of it is read before somebody opens it, so that it costs neither time at the start nor memory. The Markdown of all pages is
 * rendered, one page after another, with the first request, because every page lists the titles of the others.
 */
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { assetOf, type PreparedFile, sendAsset } from '#http/assets.ts';
import { DOC_GROUPS, type DocFile, findDocFiles, imageSlugOf, imageUrl } from './doc-files.ts';
import { escapeHtml, PAGE_HEADERS, type PageContent } from './layout.ts';
import type { RenderedMarkdown } from './markdown.ts';

/** What {@link docsRoutes} needs. */
export interface DocsOptions {
  readonly render: (content: Omit<PageContent, 'assets'>) => PreparedFile;
  /** The path of the API reference, for links. */
  readonly apiReference: string;
}

/** Adds `/docs`, a page for every file, the images they show, and the index of the search. */
export async function docsRoutes(app: FastifyInstance, options: DocsOptions): Promise<void> {
  const opened = new Map<string, Promise<Library>>();
  const library = () => remembered(opened, 'library', () => Library.open(options));
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

/** Makes each page when it is first requested, and keeps it. */
class Library {
  readonly #options: DocsOptions;
  readonly #files: ReadonlyMap<string, DocFile>;
  readonly #slugs: ReadonlyMap<string, string>;
  readonly #renderMarkdown: typeof import('./markdown.ts')['renderMarkdown'];
  readonly #rendered = new Map<string, Promise<RenderedMarkdown>>();
  readonly #assets = new Map<string, Promise<PreparedFile>>();

  private constructor(options: DocsOptions, files: readonly DocFile[], markdown: typeof import('./markdown.ts')) {
    this.#options = options;
    this.#files = new Map(files.map((file) => [file.slug, file]));
    this.#slugs = new Map(files.map(({ path, slug }) => [path, slug]));
    this.#renderMarkdown = markdown.renderMarkdown;
  }

  static async open(options: DocsOptions): Promise<Library> {
    // Loaded with the first page, because the library for Markdown takes memory.
    const [files, markdown] = await Promise.all([findDocFiles(), import('./markdown.ts')]);
    return new Library(options, files, markdown);
  }

  /** The page or image under an address below `/docs/`; undefined when there is none. */
  async find(slug: string): Promise<PreparedFile | undefined> {
    const file = this.#files.get(slug);
    if (file !== undefined) return await this.#asset(slug, () => this.#page(file));
    const isImage = imageSlugOf(`docs/${slug}`) === slug;
    return isImage ? await this.#asset(slug, () => image(slug)).catch(noFile) : undefined;
  }

  /** The table of contents. */
  contents(): Promise<PreparedFile> {
    return this.#asset('', async () => {
      const pages = await this.#all();
      const lists = DOC_GROUPS.map((group) => {
        const items = pages
          .filter(([file]) => file.group === group)
          .map(([{ slug }, { title }]) => `<li><a href="docs/${slug}">${escapeHtml(title)}</a></li>`);
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

  /** The index for `web/site/search.js`: the sections of every page, as rows of address, page, heading and text. */
  searchIndex(): Promise<PreparedFile> {
    return this.#asset('search.json', async () => {
      const rows = (await this.#all()).flatMap(([{ slug }, { title, sections }]) =>
        sections.map(({ id, heading, text }) => [`docs/${slug}${id && `#${id}`}`, title, heading, text]),
      );
      return assetOf('search.json', JSON.stringify(rows));
    });
  }

  async #page(file: DocFile): Promise<PreparedFile> {
    const { title, html, headings } = await this.#markdown(file);
    const root = rootOf(file);
    const toc = headings.map(
      ({ id, depth, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
    );
    const body = `    <div class="docs">
      <nav class="pages" aria-label="Documentation">
        <details><summary>All pages</summary>${await this.#navigation(file)}</details>
      </nav>
      <main class="article" id="content">
${html}      </main>
      ${toc.length > 1 ? `<nav class="toc" aria-label="On this page"><h2>On this page</h2><ul>${toc.join('')}</ul></nav>` : ''}
    </div>`;
    return this.#options.render({ title: `${title} · Documentation`, root, body, hasSearch: true });
  }

  /** Links to every page. The decisions, which are many, are listed on their own pages only. */
  async #navigation(current: DocFile): Promise<string> {
    const root = rootOf(current);
    const pages = await this.#all();
    return DOC_GROUPS.map((group) => {
      const items = pages
        .filter(([file]) => file.group === group && (group !== 'Decisions' || current.group === group))
        .map(([{ slug }, { title }]) => {
          const isCurrent = slug === current.slug ? ' aria-current="page"' : '';
          return `<li><a href="${root}docs/${slug}"${isCurrent}>${escapeHtml(title)}</a></li>`;
        });
      if (group === 'Reference') items.unshift(`<li><a href="${this.#apiReference(root)}">API operations</a></li>`);
      return items.length === 0 ? '' : `<h2>${group}</h2><ul>${items.join('')}</ul>`;
    }).join('');
  }

  /** Every page, in order. */
  async #all(): Promise<(readonly [DocFile, RenderedMarkdown])[]> {
    const pages: (readonly [DocFile, RenderedMarkdown])[] = [];
    for (const file of this.#files.values()) {
      pages.push([file, await this.#markdown(file)]);
    }
    return pages;
  }

  #markdown(file: DocFile): Promise<RenderedMarkdown> {
    return remembered(this.#rendered, file.slug, async () => {
      const text = await readFile(file.url, 'utf8');
      // Rendering a page takes a few milliseconds, so live media gets a turn of the event loop before each.
      await nextTurn();
      return this.#renderMarkdown(text, { addressOf: (target) => this.#addressOf(file, target) });
    });
  }

  #asset(slug: string, make: () => Promise<PreparedFile>): Promise<PreparedFile> {
    return remembered(this.#assets, slug, make);
  }

  /** The address on the site of a link's target. Undefined for a target that is not on the site, such as a source file. */
  #addressOf(from: DocFile, target: string): string | undefined {
    if (/^(?:https?:|mailto:|#)/.test(target)) return target;
    const [path = '', anchor] = target.split('#');
    const named = posix.join(posix.dirname(from.path), path).replace(/\/$/, '');
    const slug = this.#slugs.get(named) ?? imageSlugOf(named);
    if (slug === undefined) return FOLDERS.has(named) ? `${rootOf(from)}docs` : undefined;
    return `${rootOf(from)}docs/${slug}${anchor === undefined ? '' : `#${anchor}`}`;
  }

  #apiReference(root: string): string {
    return `${root}${escapeHtml(this.#options.apiReference.slice(1))}`;
  }
}

/** Folders that pages link to. Such a link leads to the table of contents. */
const FOLDERS: ReadonlySet<string> = new Set(['docs', 'docs/reference', 'docs/decisions']);

/** The relative path from the folder of a page's address up to the root of the server. */
const rootOf = ({ slug }: DocFile): string => '../'.repeat(slug.split('/').length);

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
