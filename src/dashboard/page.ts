/**
 * The HTML page that loads the dashboard.
 */

/**
 * The content security policy: the page may load scripts, styles and data only from this server, and no page may frame it. hls.js feeds
 * players from `blob:` URLs, and pictures that need a token are shown from them, too.
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

/** The icon of the service. It is inside the page, which saves a request. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b0d12"/><path d="M5 10c3.7 0 3.7 3.5 7.4 3.5S16 10 19.7 10s3.7 3.5 7.3 3.5M5 16c3.7 0 3.7 3.5 7.4 3.5S16 16 19.7 16s3.7 3.5 7.3 3.5M5 22c3.7 0 3.7 3.5 7.4 3.5S16 22 19.7 22s3.7 3.5 7.3 3.5" fill="none" stroke="#43d6c0" stroke-width="2.5" stroke-linecap="round"/></svg>',
)}`;

/** The headers of the page. Its addresses contain ids, so no referrer is sent to other servers. */
export const DASHBOARD_HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'same-origin',
  'x-robots-tag': 'noindex',
} as const;

/**
 * The HTML of the page.
 * @param page.root the relative path from the page's folder up to the root of the server: empty, or `../` repeated
 * @param page.version the version of the files
 * @param page.apiPrefix the path of the API without the slash at its beginning
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
