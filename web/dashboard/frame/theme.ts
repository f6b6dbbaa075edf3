/**
 * The light or dark theme: that of the system, unless the user has chosen one in this browser.
 */
import { computed, signal } from '@preact/signals';

/** A choice of colors. */
export type Theme = 'system' | 'light' | 'dark';

const NAME = 'millrace-theme';

/** The choice of this browser. */
export const theme = signal<Theme>(stored());

const system = matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(system.matches);
system.addEventListener('change', () => {
  isSystemDark.value = system.matches;
});

/** Whether the page is dark now. */
export const isDark = computed(() => (theme.value === 'system' ? isSystemDark.value : theme.value === 'dark'));

/** Applies the choice to the page. */
export function applyTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') delete dataset.theme;
  else dataset.theme = theme.value;
}

/** Changes the choice, and stores it for the next visit if the browser allows that. */
export function setTheme(choice: Theme): void {
  theme.value = choice;
  applyTheme();
  try {
    localStorage.setItem(NAME, choice);
  } catch {
    // Private windows may refuse. The choice then holds for this page.
  }
}

function stored(): Theme {
  try {
    const choice = localStorage.getItem(NAME);
    return choice === 'light' || choice === 'dark' ? choice : 'system';
  } catch {
    return 'system';
  }
}
