/**
 * Data from the API that a page shows. It is loaded when the page opens, and again after events or a time. While loading fails, the old
 * data is kept.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ListPage, list } from './api.ts';
import { onEvents } from './events.ts';
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
  /** Every so many milliseconds while the page is visible. */
  readonly everyMs?: number | undefined;
  /** After each event for which this is true. */
  readonly on?: (event: ServiceEvent) => boolean;
}

/** The shortest time between the beginnings of two loads that events ask for. */
const SPACING_MS = 150;
/** How long a load may take. The next one may find a connection that works. */
const LIMIT_MS = 20_000;

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
  const [state, setState] = useState<{ key: string; value: Value | undefined; error: unknown }>({
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

  const { everyMs } = refresh;
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden && loading.current === undefined) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);

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
      if (isDue || !events.some((event) => latest.current.refresh.on?.(event))) return;
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
    put: (value) => setState({ key, value, error: undefined }),
  };
}

/** A list that grows by pages. */
export interface Pages<Row> extends Data<readonly Row[]> {
  readonly total: number | undefined;
  readonly hasMore: boolean;
  readonly more: () => Promise<void>;
}

/** The rows that are kept in the page at most. */
const MAX_ROWS = 300;

/** Loads a list from its first page; `more` adds the next one. Loading again keeps as many rows as are shown, up to one page of them. */
export function usePages<Row extends { readonly id: string }>(path: string, refresh: Refresh = {}): Pages<Row> {
  const [rest, setRest] = useState<{ path: string; pages: readonly ListPage<Row>[] }>({ path, pages: [] });
  const first = useData(path, (signal) => list<Row>(path, { signal }), refresh);
  const pages = rest.path === path ? rest.pages : [];
  const last = pages.at(-1) ?? first.value;
  const seen = new Set<string>();
  const rows =
    first.value &&
    [first.value, ...pages].flatMap((page) => page.rows).filter((row) => !seen.has(row.id) && seen.add(row.id));
  return {
    ...first,
    value: rows,
    total: first.value?.total,
    hasMore: last?.next !== undefined && (rows?.length ?? 0) < MAX_ROWS,
    put: () => {},
    more: async () => {
      if (last?.next === undefined) return;
      const page = await list<Row>(last.next);
      setRest({ path, pages: [...pages, page] });
    },
  };
}
