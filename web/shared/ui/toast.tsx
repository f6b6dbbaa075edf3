/**
 * Short messages that come and go, read aloud by screen readers.
 */
import { signal } from '@preact/signals';

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

/** Where messages appear. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone, action }) => (
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
