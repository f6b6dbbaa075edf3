/**
 * Which files of the documentation are pages of the site, and under which addresses.
 */
import { readdir } from 'node:fs/promises';

/** The root of the repository, or of the package. */
const ROOT = new URL('../../', import.meta.url);

/** The groups of pages, in the order of the table of contents. */
export const DOC_GROUPS = ['Guide', 'Reference', 'About', 'Decisions'] as const;
type DocGroup = (typeof DOC_GROUPS)[number];

/** A file that is a page. */
export interface DocFile {
  /** Below the root of the repository: `docs/4-operations.md`. */
  readonly path: string;
  readonly url: URL;
  /** Below `/docs/`: `operations`, `reference/errors`. */
  readonly slug: string;
  readonly group: DocGroup;
}

/** Pages outside `docs/`. */
const OTHERS: readonly { readonly path: string; readonly slug: string; readonly group: DocGroup }[] = [
  { path: 'README.md', slug: 'introduction', group: 'Guide' },
  { path: 'SECURITY.md', slug: 'security', group: 'About' },
  { path: 'CHANGELOG.md', slug: 'changes', group: 'About' },
];

/** Finds the pages, in the order in which to read them. */
export async function findDocFiles(): Promise<readonly DocFile[]> {
  const folders = { 'docs/': 'Guide', 'docs/reference/': 'Reference', 'docs/decisions/': 'Decisions' } as const;
  const found = await Promise.all(
    Object.entries(folders).map(async ([folder, group]) => {
      const names = (await readdir(new URL(folder, ROOT))).filter((name) => name.endsWith('.md'));
      return names.sort(byNumber).map((name) => ({ path: `${folder}${name}`, slug: slugOf(folder, name), group }));
    }),
  );
  return [...OTHERS, ...found.flat()].map((file) => ({ ...file, url: new URL(file.path, ROOT) }));
}

/** The address of an image of the documentation, by its path below the root; undefined for any other file. */
export const imageSlugOf = (path: string): string | undefined =>
  /^docs\/(images\/[a-z0-9-]+\.(?:png|svg))$/.exec(path)?.[1];

/** The file of an image. @param slug as {@link imageSlugOf} returns it */
export const imageUrl = (slug: string): URL => new URL(`docs/${slug}`, ROOT);

/** The address of a page, without its number if that only orders the guide. Decisions keep their number, by which they are cited. */
function slugOf(folder: string, name: string): string {
  const base = `${folder.slice('docs/'.length)}${name.slice(0, -'.md'.length)}`;
  return folder === 'docs/' ? base.replace(/^\d+-/, '') : base;
}

/** Page 10 comes after page 9. */
const byNumber = (a: string, b: string): number => Number.parseInt(a, 10) - Number.parseInt(b, 10) || (a < b ? -1 : 1);

/** The relative path from the folder of a page's address up to the root of the server. */
export const rootOf = ({ slug }: Pick<DocFile, 'slug'>): string => '../'.repeat(slug.split('/').length);
