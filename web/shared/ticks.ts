/**
 * A clock for everything on the page that says how long ago something was: one timer for all, which rests while the page is hidden.
 */
import { signal } from '@preact/signals';

/** Counts seconds. Reading it in a component renders the component again each second. */
export const second = signal(0);

setInterval(() => {
  if (!document.hidden) second.value += 1;
}, 1000);
