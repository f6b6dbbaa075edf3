/**
 * The layout of every page except the player page, and the headers that pages are sent with.
 */

/**
 * The content of a page. Only the title is escaped. The rest must be HTML, or addresses made by us. Links are relative, so that a proxy may
 * put the server under a path of its own.
 */
export interface PageContent {
  /** What the page is about. The browser shows it before the name of the service. */
  readonly title: string;
  /** The relative path from the page's folder up to the root of the server: empty, or `../` once or more. */
  readonly root: string;
  /** The folder that the site's files are served under, as in `assets/<version>`. */
  readonly assets: string;
  /** HTML of everything below the header. */
  readonly body: string;
  /** Whether the header has the search of the documentation. */
  readonly hasSearch?: boolean;
  /** HTML of further lines of the head, for files that only this page loads. */
  readonly head?: string;
}

/**
 * The content security policy of a page: it loads nothing from elsewhere, runs nothing inline, and cannot be framed.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of a page. */
export const PAGE_HEADERS = { 'content-security-policy': PAGE_POLICY, 'referrer-policy': 'same-origin' } as const;

/** HTML of a page. */
export function layout({ title, root, assets, body, hasSearch = false, head = '' }: PageContent): string {
  const files = `${root}${assets}`;
  const heading = title === 'Millrace' ? title : `${escapeHtml(title)} · Millrace`;
  const home = root === '' ? './' : root;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${heading}</title>
    <link rel="icon" type="image/svg+xml" href="${files}/icon.svg">
    <link rel="stylesheet" href="${files}/site.css">${hasSearch ? `\n    <script type="module" src="${files}/search.js"></script>` : ''}${head}
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <header class="masthead">
      <a class="brand" href="${home}"><img src="${files}/icon.svg" alt="" width="28" height="28">Millrace</a>
      <a href="${root}docs">Documentation</a>${hasSearch ? searchForm(root) : ''}
    </header>
${body}
  </body>
</html>
`;
}

/** The search form, hidden until its script shows it, because it does not work without. */
function searchForm(root: string): string {
  return `
      <form class="search" role="search" id="search" data-index="${root}docs/search.json" data-root="${root}" hidden>
        <input type="search" id="search-words" placeholder="Search" aria-label="Search the documentation" autocomplete="off" aria-controls="search-results">
        <div class="results" id="search-results" role="status" hidden></div>
      </form>`;
}

/** Text as it is written in HTML, also inside quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The deepest path of a page. From a path of a thousand slashes, the way up would make a long page of a short request. */
const MAX_DEPTH = 8;

/** The relative path from the folder of a path up to the root: `../` for `/play/x`, nothing for `/play`, `/` for a path too deep. */
export function rootFrom(path: string): string {
  const depth = Math.max(0, path.split('/').length - 2);
  return depth > MAX_DEPTH ? '/' : '../'.repeat(depth);
}
