/**
 * Light or dark: as the system is, unless somebody has chosen here.
 */
import { signal } from '@preact/signals';

/** A choice of colors. */
export type Theme = 'system' | 'light' | 'dark';

const NAME = 'millrace-theme';

/** The choice of this browser. */
export const theme = signal<Theme>(stored());

/** Shows the choice. */
export function applyTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') delete dataset.theme;
  else dataset.theme = theme.value;
}

/** Changes the choice, and keeps it for the next visit where the browser lets us. */
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
