/**
 * Short messages that come and go, read aloud by screen readers.
 */
import { signal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';

/** How a message looks. */
export type Tone = 'ok' | 'warn' | 'bad' | 'info';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
  readonly action: { readonly name: string; readonly run: () => void } | undefined;
}

const SHOWN_MS = 6000;
const MAX_SHOWN = 3;
const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

/** Shows a message for some seconds. @returns removes it */
export function toast(text: string, tone: Tone = 'ok', action?: Toast['action'], shownMs = SHOWN_MS): () => void {
  lastId += 1;
  const id = lastId;
  const remove = () => {
    toasts.value = toasts.value.filter((each) => each.id !== id);
  };
  toasts.value = [...toasts.value.slice(1 - MAX_SHOWN), { id, text, tone, action }];
  setTimeout(remove, shownMs);
  return remove;
}

/** The places where messages can appear. Everything outside of an open dialog is inert, so the last dialog opened has them. */
const places = signal<readonly string[]>([]);

/** A place where messages can appear: one in the page, and one in each dialog. */
export function Toasts() {
  const id = useId();
  useEffect(() => {
    places.value = [...places.value, id];
    return () => {
      places.value = places.value.filter((each) => each !== id);
    };
  }, []);
  const shown = places.value.at(-1) === id ? toasts.value : [];
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, tone, action }) => (
        <div key={id} class={`toast ${tone}`}>
          <span>{text}</span>
          {action && (
            <button
              type="button"
              class="link"
              onClick={() => {
                toasts.value = toasts.value.filter((each) => each.id !== id);
                action.run();
              }}
            >
              {action.name}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
