/**
 * The events of the service as they happen. The page has one connection, which is closed while the page is hidden, and continues where it
 * stopped.
 */
import { signal } from '@preact/signals';
import { EventLines } from './event-lines.ts';
import { API } from './place.ts';
import { bearer, errorOf, eventBeforePage, forgetToken } from './session.ts';
import type { ServiceEvent } from './types.ts';

/**
 * Whether events arrive. A connection that is lost, or refused for now, is made again. None is made when the rules of the API key forbid
 * reading events.
 */
export const eventState = signal<'connecting' | 'live' | 'lost' | 'forbidden'>('connecting');

/** The server sends a comment every 15 s. A connection that is silent for longer is lost, or a proxy holds events back. */
const SILENCE_MS = 22_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

type Listener = (events: readonly ServiceEvent[]) => void;
const listeners = new Set<Listener>();
let connection: AbortController | undefined;
let lastId: string | undefined;
let batch: ServiceEvent[] = [];

/**
 * Hands new events to a listener until the returned function is called, those of one animation frame together. An empty list means that
 * there may have been events that no listener was told of.
 */
export function onEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Keeps the connection while the page is visible. @returns a function that stops it */
export function keepEvents(): () => void {
  const look = () => {
    if (document.hidden) {
      connection?.abort();
      connection = undefined;
    } else if (connection === undefined) {
      connection = new AbortController();
      void read(connection.signal);
    }
  };
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    document.removeEventListener('visibilitychange', look);
    connection?.abort();
    connection = undefined;
  };
}

async function read(signal: AbortSignal): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const authorization = `Bearer ${await bearer()}`;
      // Begins with the events since the page opened, because what happens while the page loads its first data must not be missed.
      lastId ??= eventBeforePage()?.toString();
      const response = await fetch(`${API}/event/stream`, {
        headers: {
          authorization,
          ...(lastId !== undefined && { 'last-event-id': lastId }),
        },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      if (response.status === 401) forgetToken();
      // A quota and a suspension are also refused with 403, but may end.
      if (response.status === 403 && (await errorOf(response)).code === 'insufficient_scope') {
        eventState.value = 'forbidden';
        return;
      }
      if (response.ok && response.body !== null) {
        if (eventState.value === 'lost' && lastId === undefined) for (const listener of listeners) listener([]);
        eventState.value = 'live';
        pauseMs = FIRST_PAUSE_MS;
        const lines = new EventLines();
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          clearTimeout(timer);
          timer = setTimeout(() => silence.abort(), SILENCE_MS);
          for (const { data } of lines.take(next.value)) add(JSON.parse(data) as ServiceEvent);
          lastId = lines.lastId ?? lastId;
        }
      }
    } catch {
      // What failed is the connection. The loop makes another one.
    } finally {
      clearTimeout(timer);
    }
    if (signal.aborted) return;
    eventState.value = 'lost';
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Many events at once cost one update of the page. */
function add(event: ServiceEvent): void {
  batch.push(event);
  if (batch.length > 1) return;
  requestAnimationFrame(() => {
    const events = batch;
    batch = [];
    for (const listener of listeners) listener(events);
  });
}
