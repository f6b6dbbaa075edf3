/**
 * The search for everything: pages by name, and ids or URLs that are pasted.
 */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { get, list } from '../../shared/api.ts';
import { go, hrefOf } from '../../shared/router.ts';
import type { Asset, Stream, StreamInfo, Webhook } from '../../shared/types.ts';
import { useModal } from '../../shared/ui/dialog.tsx';
import { Icon, type IconName } from '../../shared/ui/icon.tsx';
import { PAGES } from '../pages.ts';
import { pastedId } from './pasted.ts';

interface Hit {
  readonly name: string;
  readonly note: string;
  readonly icon: IconName;
  readonly path: string;
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
  const [found, setFound] = useState<{ readonly of: string; readonly hits: readonly Hit[] } | undefined>();
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    setChosen(0);
    const asked = new AbortController();
    const timer = setTimeout(() => {
      const show = (hits: readonly Hit[]) => {
        if (!asked.signal.aborted) setFound({ of: text, hits });
      };
      find(text.trim(), asked.signal).then(show, () => show([]));
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [text]);
  const words = text.trim().toLowerCase();
  const pages: Hit[] = [
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
  const hits = words === '' ? pages : [...(isFound ? found.hits : []), ...pages];
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    close();
    go(hit.path);
  };
  const onKey = (event: KeyboardEvent) => {
    // While a word is composed with an input method, its keys are not commands.
    if (event.isComposing) return;
    if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
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
            onInput={(event) => setText(event.currentTarget.value)}
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
        {hits.length === 0 && isFound && (
          <p class="nothing">Nothing found. Whatever you paste here leads to its page: an id, a key, an address.</p>
        )}
      </div>
    </dialog>
  );
}

/** Looks a text up: whatever has this id, and streams whose names contain it. */
async function find(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  if (text === '') return [];
  const id = pastedId(text);
  const one = <Answer,>(path: string) =>
    id === undefined ? undefined : get<Answer>(path + encodeURIComponent(id), { signal }).catch(() => undefined);
  const isUuid = id?.length === 36;
  const [info, asset, webhook, named] = await Promise.all([
    id === undefined
      ? undefined
      : get<StreamInfo>(`/stream/${encodeURIComponent(id)}/info`, { signal }).catch(() => undefined),
    isUuid ? one<Asset>('/asset/') : one<readonly Asset[]>('/asset?limit=1&playbackId=')?.then((rows) => rows?.[0]),
    isUuid ? one<Webhook>('/webhook/') : undefined,
    list<Stream>(`/stream?limit=8&filters=${encodeURIComponent(JSON.stringify([{ id: 'name', value: text }]))}`, {
      signal,
    }),
  ]);
  const hits: Hit[] = [];
  if (info?.isSession && info.session) {
    hits.push({ name: info.session.name, note: 'Session', icon: 'history', path: `/sessions/${info.session.id}` });
  } else if (info !== undefined) {
    const what = info.isStreamKey
      ? 'Stream with this key'
      : info.isPlaybackid
        ? 'Stream with this playback id'
        : 'Stream';
    hits.push({ name: info.stream.name, note: what, icon: 'streams', path: `/streams/${info.stream.id}` });
  }
  if (asset !== undefined) {
    const note = asset.source.type === 'clip' ? 'Clip' : 'Recording';
    hits.push({ name: asset.name, note, icon: 'film', path: `/recordings/${asset.id}` });
  }
  if (webhook !== undefined) {
    hits.push({ name: webhook.name, note: 'Webhook', icon: 'hook', path: `/webhooks/${webhook.id}` });
  }
  for (const { id: streamId, name, isActive } of named.rows) {
    const path = `/streams/${streamId}`;
    if (!hits.some((hit) => hit.path === path)) {
      hits.push({ name, note: isActive ? 'Live stream' : 'Stream', icon: 'streams', path });
    }
  }
  return hits;
}
