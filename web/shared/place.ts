/**
 * The URLs of this server. All are derived from the URL of this module, so that a proxy may serve the server below another path.
 */

/** The root of the server, with a slash at the end. The module is served as `dashboard/assets/<version>/<file>`. */
export const ROOT = new URL('../../../', import.meta.url);

/** The path of the dashboard, without a slash at the end. */
export const DASHBOARD = `${ROOT.pathname}dashboard`;

/** The URL of the API, without a slash at the end. The page says what its path is. */
export const API = new URL(document.documentElement.dataset.api ?? '', ROOT).href.replace(/\/$/, '');
