/**
 * The addresses of the dashboard, kept in the browser's history.
 */
import { signal } from '@preact/signals';
import { DASHBOARD } from './place.ts';

/** A place in the dashboard. */
export interface Place {
  /** The path below `/dashboard`, which begins with a slash: `/streams/<id>`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Where the page is. */
export const place = signal<Place>(here());

/** The address of a path, for links. */
export const hrefOf = (path: string): string => (path === '/' ? DASHBOARD : DASHBOARD + path);

/** Goes to a path below `/dashboard`. */
export function go(path: string, how: 'push' | 'replace' = 'push'): void {
  const href = hrefOf(path);
  if (how === 'push') history.pushState(null, '', href);
  else history.replaceState(null, '', href);
  place.value = here();
  if (how === 'push') {
    scrollTo(0, 0);
    focusPage();
  }
}

/** Makes a screen reader go on at the new page, as after a real load. */
function focusPage(): void {
  requestAnimationFrame(() => document.getElementById('content')?.focus({ preventScroll: true }));
}

/** Follows links and the buttons of the browser. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    const { path } = place.value;
    place.value = here();
    if (place.value.path !== path) focusPage();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = (event.target as Element).closest?.('a');
    if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname !== DASHBOARD && !link.pathname.startsWith(`${DASHBOARD}/`)) return;
    if (link.pathname === location.pathname && link.hash !== '') return;
    event.preventDefault();
    go(link.pathname.slice(DASHBOARD.length) + link.search || '/');
  });
}

function here(): Place {
  const path = location.pathname.slice(DASHBOARD.length).replace(/\/$/, '');
  return { path: path === '' ? '/' : path, query: new URLSearchParams(location.search) };
}
