/**
 * The search for everything: pages by name, and ids or URLs that are pasted.
 */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { get } from '../../shared/api.ts';
import { go, hrefOf } from '../../shared/router.ts';
import { useModal } from '../../shared/ui/dialog.tsx';
import { Icon, type IconName } from '../../shared/ui/icon.tsx';
import { Failure } from '../../shared/ui/parts.tsx';
import { PAGES } from '../pages.ts';
import { find, type Hit } from './find.ts';

/** A page that can be opened. */
interface Choice extends Omit<Hit, 'icon'> {
  readonly icon: IconName;
}

/** What was found for a text. */
interface Found {
  readonly of: string;
  readonly hits: readonly Hit[];
  /** Why nothing could be found. */
  readonly error?: unknown;
}

const isOpen = signal(false);
const PAUSE_MS = 150;

const close = (): void => {
  isOpen.value = false;
};

/** Opens the search. */
export const openPalette = (): void => {
  isOpen.value = true;
};

/** The search, over the page while it is open. */
export function Palette({ isAdmin }: { readonly isAdmin: boolean }) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        isOpen.value = !isOpen.value;
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return isOpen.value ? <Open isAdmin={isAdmin} /> : null;
}

function Open({ isAdmin }: { readonly isAdmin: boolean }) {
  const dialog = useModal(close);
  const [text, setText] = useState('');
  const [found, setFound] = useState<Found | undefined>();
  const [chosen, setChosen] = useState(0);
  const choose = (index: number) => {
    setChosen(index);
    document.getElementById(`hit-${index}`)?.scrollIntoView({ block: 'nearest' });
  };
  useEffect(() => {
    const asked = new AbortController();
    const timer = setTimeout(() => {
      const show = (answer: Omit<Found, 'of'>) => {
        if (!asked.signal.aborted) setFound({ of: text, ...answer });
      };
      find(text.trim(), (path) => get(path, { signal: asked.signal })).then(
        (hits) => show({ hits }),
        (error: unknown) => show({ hits: [], error }),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [text]);
  const words = text.trim().toLowerCase();
  const pages: readonly Choice[] = [
    ...PAGES.filter(({ nav }) => nav && (nav.for !== 'admins' || isAdmin)).map(({ pattern, title, nav }) => ({
      name: title,
      note: 'Page',
      icon: nav!.icon,
      path: pattern,
    })),
    { name: 'Create a stream', note: 'Action', icon: 'plus' as const, path: '/streams/new' },
  ].filter(({ name }) => name.toLowerCase().includes(words));
  // Hits for an earlier text must not be opened.
  const isFound = found?.of === text;
  const hits: readonly Choice[] = words === '' ? pages : [...(isFound ? found.hits : []), ...pages];
  const open = (hit: Choice | undefined) => {
    if (hit === undefined) return;
    close();
    go(hit.path);
  };
  const onKey = (event: KeyboardEvent) => {
    // While a word is composed with an input method, its keys are not commands.
    if (event.isComposing) return;
    if (event.key === 'ArrowDown') choose(Math.min(chosen + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') choose(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter') open(hits[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Find anything" onClose={close}>
      <div class="inside">
        <div class="ask">
          <Icon name="search" />
          <input
            type="text"
            role="combobox"
            aria-expanded="true"
            aria-controls="palette-hits"
            aria-activedescendant={hits.length > 0 ? `hit-${chosen}` : undefined}
            aria-label="A name, id, stream key, playback id or address"
            placeholder="A name, id, stream key, playback id or address"
            dir="auto"
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              choose(0);
            }}
            onKeyDown={onKey}
          />
        </div>
        <div role="listbox" id="palette-hits" aria-label="Results">
          {hits.map((hit, index) => (
            <a
              key={hit.path + hit.name}
              id={`hit-${index}`}
              role="option"
              aria-selected={index === chosen}
              href={hrefOf(hit.path)}
              tabIndex={-1}
              onClick={close}
              onPointerMove={() => setChosen(index)}
            >
              <Icon name={hit.icon} size={18} />
              <bdi>{hit.name}</bdi>
              <small>{hit.note}</small>
            </a>
          ))}
        </div>
        {isFound && found.error !== undefined && <Failure error={found.error} />}
        {hits.length === 0 && isFound && found.error === undefined && (
          <p class="nothing">Nothing found. Whatever you paste here leads to its page: an id, a key, an address.</p>
        )}
      </div>
    </dialog>
  );
}
