/**
 * The thread that renders the documentation. Rendering all of it takes 150 ms of CPU time. It sends one message and ends. The main thread's
 * side is `docs.ts`.
 */
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { type DocFile, findDocFiles, imageSlugOf, rootOf } from '#pages/doc-files.ts';
import { type RenderedMarkdown, renderMarkdown, type Section } from './markdown.ts';

/** A page as the thread sends it. */
export interface RenderedPage extends Pick<DocFile, 'slug' | 'group'>, Omit<RenderedMarkdown, 'sections'> {}

/** What the thread sends. */
export interface RenderedDocs {
  /** Every page, in order. */
  readonly pages: readonly RenderedPage[];
  /** The index for `web/site/search.js` as JSON: the sections of every page, as rows of address, page, heading and text. */
  readonly search: string;
}

/** Folders that pages link to. Such a link leads to the table of contents. */
const FOLDERS: ReadonlySet<string> = new Set(['docs', 'docs/reference', 'docs/decisions']);

const files = await findDocFiles();
const slugs = new Map(files.map(({ path, slug }) => [path, slug]));
const pages: RenderedPage[] = [];
const rows: (readonly string[])[] = [];
for (const file of files) {
  const { slug, group } = file;
  const text = await readFile(file.url, 'utf8');
  const { sections, ...page } = renderMarkdown(text, { addressOf: (target) => addressOf(file, target) });
  pages.push({ slug, group, ...page });
  rows.push(...sections.map((section) => rowOf(slug, page.title, section)));
}
parentPort?.postMessage({ pages, search: JSON.stringify(rows) } satisfies RenderedDocs);

function rowOf(slug: string, title: string, { id, heading, text }: Section): readonly string[] {
  return [`docs/${slug}${id && `#${id}`}`, title, heading, text];
}

/** The address on the site of a link's target. Undefined for a target that is not on the site, such as a source file. */
function addressOf(from: DocFile, target: string): string | undefined {
  if (/^(?:https?:|mailto:|#)/.test(target)) return target;
  const [path = '', anchor] = target.split('#');
  const named = posix.join(posix.dirname(from.path), path).replace(/\/$/, '');
  const slug = slugs.get(named) ?? imageSlugOf(named);
  if (slug === undefined) return FOLDERS.has(named) ? `${rootOf(from)}docs` : undefined;
  return `${rootOf(from)}docs/${slug}${anchor === undefined ? '' : `#${anchor}`}`;
}
