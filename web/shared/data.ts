/**
 * Data from the API that a page shows. It is loaded when the page opens, and again after events or a time. While loading fails, the old
 * data is kept.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ListPage, list } from './api.ts';
import { ApiError } from './errors.ts';
import { eventState, onEvents } from './events.ts';
import type { ServiceEvent } from './types.ts';

/** Data that may not be loaded yet. */
export interface Data<Value> {
  /** The newest value; undefined before the first. */
  readonly value: Value | undefined;
  /** Why the last attempt failed; undefined when it did not. */
  readonly error: unknown;
  readonly reload: () => void;
  /** Puts a value in place, for example the answer to a change. */
  readonly put: (value: Value) => void;
}

/** When to load again. */
export interface Refresh {
  /**
   * Every so many milliseconds while the page is visible, until the rules of the API key forbid it. What is not found is looked for less often.
   * What events renew is loaded from time to time while none arrive.
   */
  readonly everyMs?: number | undefined;
  /** After each event for which this is true. */
  readonly on?: (event: ServiceEvent) => boolean;
}

/** The shortest time between the beginnings of two loads that events ask for. */
const SPACING_MS = 150;
/** How often data is loaded that events would renew, while none arrive. */
const WITHOUT_EVENTS_MS = 15_000;
/** How often data that was not found is looked for again. During an upgrade, a server of the version before does not know what is new. */
const MISSING_EVERY_MS = 60_000;
/** How long a load may take. The next one may find a connection that works. */
const LIMIT_MS = 20_000;

/** The state of {@link useData}. */
interface State<Value> {
  readonly key: string;
  readonly value: Value | undefined;
  readonly error: unknown;
  /** Whether the value was put while a load was in progress, so that it must be loaded again. */
  readonly mayBeOld?: boolean;
}

/** A load that is under way. */
interface Loading {
  readonly abort: AbortController;
  /** Resolves when it is over, however it ended. */
  readonly settled: Promise<void>;
}

/**
 * Loads data.
 * @param key of what is loaded: another key begins anew
 */
export function useData<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  refresh: Refresh = {},
): Data<Value> {
  const [state, setState] = useState<State<Value>>({
    key,
    value: undefined,
    error: undefined,
  });
  const latest = useRef({ load, refresh });
  latest.current = { load, refresh };
  const loading = useRef<Loading | undefined>(undefined);

  const reload = useCallback(() => {
    loading.current?.abort.abort();
    const abort = new AbortController();
    const settled = latest.current.load(AbortSignal.any([abort.signal, AbortSignal.timeout(LIMIT_MS)])).then(
      (value) => {
        if (!abort.signal.aborted) setState({ key, value, error: undefined });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState((old) => ({ key, value: old.key === key ? old.value : undefined, error }));
      },
    );
    const own = { abort, settled };
    loading.current = own;
    void settled.then(() => {
      if (loading.current === own) loading.current = undefined;
    });
  }, [key]);

  useEffect(() => {
    reload();
    return () => loading.current?.abort.abort();
  }, [reload]);

  // Only now does a list know which of its pages are shown.
  useEffect(() => {
    if (state.mayBeOld) reload();
  }, [state, reload]);

  const isWithoutEvents = eventState.value === 'lost' || eventState.value === 'forbidden';
  const { everyMs = refresh.on && isWithoutEvents ? WITHOUT_EVENTS_MS : undefined } = refresh;
  const code = state.error instanceof ApiError ? state.error.code : '';
  const pollMs =
    everyMs === undefined || code === 'insufficient_scope'
      ? undefined
      : code === 'not_found'
        ? Math.max(everyMs, MISSING_EVERY_MS)
        : everyMs;
  useEffect(() => {
    if (pollMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden && loading.current === undefined) reload();
    }, pollMs);
    return () => clearInterval(timer);
  }, [pollMs, reload]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastAt = Number.NEGATIVE_INFINITY;
    let isDue = false;
    let isOver = false;
    // A load that is under way may have missed the event, but is not given up: on a slow connection a flood of events would let none finish.
    const load = async () => {
      await loading.current?.settled;
      if (isOver) return;
      isDue = false;
      lastAt = performance.now();
      reload();
    };
    const stop = onEvents((events) => {
      const { on } = latest.current.refresh;
      if (isDue || on === undefined || (events.length > 0 && !events.some(on))) return;
      isDue = true;
      // After a first event data is loaded at once, and during a flood of events only as often as people can read.
      timer = setTimeout(() => void load(), Math.max(0, lastAt + SPACING_MS - performance.now()));
    });
    const shown = () => {
      if (!document.hidden) reload();
    };
    document.addEventListener('visibilitychange', shown);
    return () => {
      isOver = true;
      stop();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', shown);
    };
  }, [reload]);

  const current = state.key === key ? state : { value: undefined, error: undefined };
  return {
    value: current.value,
    error: current.error,
    reload,
    put: (value) => {
      // The load in progress may be older than this value. It may also contain something newer, such as the event that caused it.
      loading.current?.abort.abort();
      setState({ key, value, error: undefined, mayBeOld: loading.current !== undefined });
    },
  };
}

/** A list that is shown by pages, of which only a few are kept. */
export interface Pages<Row> extends Data<readonly Row[]> {
  readonly hasMore: boolean;
  /** Adds the next page. Beyond a number of pages, the first of those shown makes room for it. */
  readonly more: () => Promise<void>;
  readonly hasPrevious: boolean;
  /** Brings back the page before those shown. The last of these makes room for it. */
  readonly previous: () => Promise<void>;
}

/** The pages that are shown at most. With 50 rows each, that is as much as a browser scrolls and updates without a pause. */
const MAX_PAGES = 6;

/** A part of a list: the pages that are shown, one after the other. */
interface Part<Row> {
  /** The paths of the pages before. */
  readonly before: readonly string[];
  readonly pages: readonly (ListPage<Row> & { readonly path: string })[];
}

/** Loads a list from its first page. Loading again renews every page that is shown, each from where the one before ends, so that none is missing. */
export function usePages<Row extends { readonly id: string }>(path: string, refresh: Refresh = {}): Pages<Row> {
  const shown = useRef<{ readonly list: string; readonly part: Part<Row> } | undefined>(undefined);
  const part = useData<Part<Row>>(
    path,
    async (signal) => {
      const { before, pages } = (shown.current?.list === path ? shown.current.part : undefined) ?? FIRST_PAGE;
      return { before, pages: await loadPages<Row>(pages[0]?.path ?? path, pages.length, signal) };
    },
    refresh,
  );
  const { value } = part;
  shown.current = value && { list: path, part: value };
  const next = value?.pages.at(-1)?.next;
  const hidden = value?.before.at(-1);
  /** Loads one page more, and puts it in its place among those that are shown by then. */
  const add = async (from: string | undefined, place: (part: Part<Row>, page: Part<Row>['pages']) => Part<Row>) => {
    if (from === undefined) return;
    const page = await loadPages<Row>(from, 1);
    if (shown.current?.list === path) part.put(place(shown.current.part, page));
  };
  const seen = new Set<string>();
  return {
    ...part,
    value: value?.pages.flatMap(({ rows }) => rows).filter(({ id }) => !seen.has(id) && seen.add(id)),
    put: () => {},
    hasMore: next !== undefined,
    more: () =>
      add(next, ({ before, pages }, page) => {
        const all = [...pages, ...page];
        const gone = all.slice(0, -MAX_PAGES).map((each) => each.path);
        return { before: [...before, ...gone], pages: all.slice(-MAX_PAGES) };
      }),
    hasPrevious: hidden !== undefined,
    previous: () =>
      add(hidden, ({ before, pages }, page) => ({
        before: before.slice(0, -1),
        pages: [...page, ...pages].slice(0, MAX_PAGES),
      })),
  };
}

const FIRST_PAGE: Part<never> = { before: [], pages: [] };

/** Reads pages that follow each other, at least one. */
async function loadPages<Row>(path: string, count: number, signal?: AbortSignal): Promise<Part<Row>['pages']> {
  const pages: Part<Row>['pages'][number][] = [];
  for (let next: string | undefined = path; next !== undefined && (pages.length < count || pages.length === 0); ) {
    const page: ListPage<Row> = await list<Row>(next, signal && { signal });
    pages.push({ path: next, ...page });
    next = page.next;
  }
  return pages;
}
