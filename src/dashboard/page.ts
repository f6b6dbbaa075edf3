/**
 * The page that loads the dashboard.
 */

/**
 * The content security policy: the page runs and loads what this server serves, and nobody may frame it. hls.js feeds players from `blob:` URLs,
 * and pictures that need a token are shown from them.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "media-src 'self' blob:",
  "worker-src 'self' blob:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The icon of the service, inside the page: one request less. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b0d12"/><path d="M5 10c3.7 0 3.7 3.5 7.4 3.5S16 10 19.7 10s3.7 3.5 7.3 3.5M5 16c3.7 0 3.7 3.5 7.4 3.5S16 16 19.7 16s3.7 3.5 7.3 3.5M5 22c3.7 0 3.7 3.5 7.4 3.5S16 22 19.7 22s3.7 3.5 7.3 3.5" fill="none" stroke="#43d6c0" stroke-width="2.5" stroke-linecap="round"/></svg>',
)}`;

/** Headers of the page. Its addresses hold ids, which no other server needs to know. */
export const DASHBOARD_HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'same-origin',
  'x-robots-tag': 'noindex',
} as const;

/**
 * HTML of the page.
 * @param page.root the relative path from the page's folder up to the root of the server @param page.version that of the files
 * @param page.apiPrefix the path of the API without the slash before it
 */
export function dashboardHtml({
  root,
  version,
  apiPrefix,
}: {
  readonly root: string;
  readonly version: string;
  readonly apiPrefix: string;
}): string {
  const files = `${root}dashboard/assets/${version}`;
  return `<!doctype html>
<html lang="en" data-api="${apiPrefix}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Dashboard · Millrace</title>
    <link rel="icon" type="image/svg+xml" href="${ICON}">
    <link rel="stylesheet" href="${files}/main.css">
    <script type="module" src="${files}/main.js"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>The dashboard is a program that runs in this page, and needs JavaScript. Everything it does can be done with the API as well.</noscript>
  </body>
</html>
`;
}
