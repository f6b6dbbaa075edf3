/**
 * The frame around every page: the navigation, the user who is signed in, and whether the page gets events.
 */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { eventState, keepEvents } from '../../shared/events.ts';
import { loaded } from '../../shared/loaded.ts';
import { ROOT } from '../../shared/place.ts';
import { matchRoute } from '../../shared/route.ts';
import { hrefOf, type Place, place } from '../../shared/router.ts';
import { type SignedIn, signOut } from '../../shared/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Menu } from '../../shared/ui/menu.tsx';
import { Failure, Loading, PageHead } from '../../shared/ui/parts.tsx';
import { Toasts } from '../../shared/ui/toast.tsx';
import { PAGES, type Page, type PageComponent } from '../pages.ts';
import { Mark } from './mark.tsx';
import { openPalette, Palette } from './palette.tsx';
import { setTheme, theme } from './theme.ts';

/** Windows in which the navigation is a menu over the page, see `frame.css`. */
const NARROW = matchMedia('(max-width: 56rem)');

/** The frame. */
export function Frame({ who }: { readonly who: SignedIn }) {
  // The menu of a narrow window is open only where it was opened, so whatever leads to another place closes it.
  const [navOpenAt, setNavOpenAt] = useState<Place | undefined>();
  const isNavOpen = navOpenAt === place.value;
  const { path } = place.value;
  useEffect(keepEvents, [who.sessionId]);
  useLayoutEffect(() => {
    if (!isNavOpen) return;
    const close = () => setNavOpenAt(undefined);
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      close();
      document.querySelector<HTMLElement>('.topbar button')?.focus();
    };
    // A window that becomes wide shows the menu beside the page, and no button that closes it.
    NARROW.addEventListener('change', close);
    document.addEventListener('keydown', onKey);
    return () => {
      NARROW.removeEventListener('change', close);
      document.removeEventListener('keydown', onKey);
    };
  }, [isNavOpen]);
  return (
    <div class={`frame${isNavOpen ? ' nav-open' : ''}`}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="topbar">
        <Button
          kind="quiet"
          icon={isNavOpen ? 'close' : 'menu'}
          label={isNavOpen ? 'Close the menu' : 'Open the menu'}
          expanded={isNavOpen}
          onPress={() => setNavOpenAt(isNavOpen ? undefined : place.value)}
        />
        <a class="brand" href={hrefOf('/')}>
          <Mark />
          Millrace
        </a>
        <Button kind="quiet" icon="search" label="Search" onPress={openPalette} />
      </header>
      <aside class="sidebar">
        <a class="brand" href={hrefOf('/')}>
          <Mark />
          Millrace
        </a>
        <button type="button" class="find" onClick={openPalette}>
          <Icon name="search" size={16} />
          <span>Search</span>
          <kbd>{/Mac|iP/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <nav aria-label="Pages">
          {PAGES.filter(({ nav }) => nav && (nav.for !== 'admins' || who.user.isAdmin)).map(
            ({ pattern, title, nav }) => (
              <a
                key={pattern}
                href={hrefOf(pattern)}
                aria-current={
                  path === pattern || (pattern !== '/' && path.startsWith(`${pattern}/`)) ? 'page' : undefined
                }
              >
                <Icon name={nav!.icon} />
                {title}
              </a>
            ),
          )}
        </nav>
        <div class="foot">
          <Live />
          <div class="account">
            <span class="who">
              <bdi>{who.user.name}</bdi>
              <small>{who.key ? <bdi>key {who.key.name}</bdi> : who.user.isAdmin ? 'admin' : 'user'}</small>
            </span>
            <Menu
              label="Account and appearance"
              items={[
                {
                  name: 'Documentation',
                  icon: 'info',
                  run: () => void open(`${ROOT.pathname}docs`, '_blank', 'noopener'),
                },
                theme.value === 'dark'
                  ? { name: 'Light colors', icon: 'sun', run: () => setTheme('light') }
                  : { name: 'Dark colors', icon: 'moon', run: () => setTheme('dark') },
                ...(theme.value === 'system'
                  ? []
                  : [{ name: 'Colors of the system', icon: 'check', run: () => setTheme('system') } as const]),
                { name: 'Sign out', icon: 'door', run: signOut },
              ]}
            />
          </div>
        </div>
      </aside>
      <main id="content" tabIndex={-1} inert={isNavOpen}>
        <CurrentPage isAdmin={who.user.isAdmin} />
      </main>
      <Palette isAdmin={who.user.isAdmin} />
      <Toasts />
    </div>
  );
}

/** Shows whether the page gets events, and so updates itself. */
function Live() {
  const state = eventState.value;
  const words = { live: 'Live', connecting: 'Connecting…', lost: 'Reconnecting…', forbidden: 'Without live events' }[
    state
  ];
  return (
    <p class={`liveness ${state}`} role="status">
      <span class="dot" aria-hidden="true" />
      {words}
    </p>
  );
}

/** The page of the present address. Its script is loaded when it is first opened. */
function CurrentPage({ isAdmin }: { readonly isAdmin: boolean }) {
  const { path } = place.value;
  const [components, setComponents] = useState<ReadonlyMap<Page, PageComponent>>(new Map());
  const [error, setError] = useState<unknown>();
  let found: { page: Page; params: Readonly<Record<string, string>> } | undefined;
  for (const page of PAGES) {
    if (page.nav?.for === 'admins' && !isAdmin) continue;
    const params = matchRoute(page.pattern, path);
    if (params !== undefined) found = { page, params };
    if (params !== undefined) break;
  }
  const page = found?.page;
  // The document has this title until the page itself sets one.
  useLayoutEffect(() => {
    document.title = `${page?.title ?? 'Not found'} · Millrace`;
  }, [path]);
  useEffect(() => {
    setError(undefined);
    if (page === undefined || components.has(page)) return;
    loaded(page.load()).then((component) => setComponents((old) => new Map(old).set(page, component)), setError);
  }, [page]);
  if (found === undefined) {
    return (
      <>
        <PageHead title="There is no such page">The address may be mistyped, or what it showed was deleted.</PageHead>
        <p>
          <a href={hrefOf('/')}>Go to the home page</a>
        </p>
      </>
    );
  }
  if (error !== undefined) return <Failure error={error} again={() => location.reload()} />;
  const Component = components.get(found.page);
  return Component ? <Component key={path} params={found.params} /> : <Loading lines={6} />;
}
