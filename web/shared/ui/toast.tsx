/**
 * Short messages, read aloud by screen readers. Those that report a success and have no button go away by themselves.
 */
import { signal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';
import { Icon } from './icon.tsx';

/** How a message looks. */
export type Tone = 'ok' | 'warn' | 'bad' | 'info';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
  readonly action: { readonly name: string; readonly run: () => void } | undefined;
}

/** A message that goes by itself is shown for so many steps, without those in which somebody reads it. */
const STEPS = 4;
const STEP_MS = 1500;
const MAX_SHOWN = 3;
const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

/** Whether a message stays until it is closed: it says what went wrong, or offers something. */
const stays = ({ tone, action }: Toast): boolean => tone === 'bad' || action !== undefined;

const remove = (id: number): void => {
  toasts.value = toasts.value.filter((each) => each.id !== id);
};

/** Shows a message, in place of an equal one. When there are too many, one that goes by itself makes room, or else the oldest. */
export function toast(text: string, tone: Tone = 'ok', action?: Toast['action']): void {
  lastId += 1;
  const own = { id: lastId, text, tone, action };
  const others = toasts.value.filter((each) => each.text !== text);
  const gone = others.length < MAX_SHOWN ? undefined : (others.find((each) => !stays(each)) ?? others[0]);
  toasts.value = [...others.filter((each) => each !== gone), own];
  if (stays(own)) return;
  let stepsLeft = STEPS;
  const timer = setInterval(() => {
    if (document.hidden || document.querySelector('.toast:is(:hover, :focus-within)')) return;
    stepsLeft -= 1;
    if (stepsLeft > 0) return;
    clearInterval(timer);
    remove(own.id);
  }, STEP_MS);
}

/** Removes a message whose button was pressed, and gives the focus of the button to what is around the messages. */
function close(button: HTMLElement, id: number): void {
  const place = button.closest('dialog')?.querySelector<HTMLElement>('button') ?? document.getElementById('content');
  remove(id);
  place?.focus({ preventScroll: true });
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
      {shown.map((each) => (
        <div key={each.id} class={`toast ${each.tone}`}>
          <span>{each.text}</span>
          {each.action && (
            <button
              type="button"
              class="link"
              onClick={(event) => {
                close(event.currentTarget, each.id);
                each.action!.run();
              }}
            >
              {each.action.name}
            </button>
          )}
          {stays(each) && (
            <button
              type="button"
              class="link"
              aria-label="Dismiss"
              onClick={(event) => close(event.currentTarget, each.id)}
            >
              <Icon name="close" size={16} />
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
