/**
 * A menu of further actions behind one button.
 */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { sentenceOf } from '../errors.ts';
import { Icon, type IconName } from './icon.tsx';
import { toast } from './toast.tsx';

/** One entry of a menu. */
export interface MenuItem {
  readonly name: string;
  readonly icon?: IconName;
  readonly danger?: boolean;
  /** Why it cannot be chosen. */
  readonly forbidden?: string | undefined;
  readonly run: () => void | Promise<unknown>;
}

/** The button with its menu. Arrow keys move, Escape closes. */
export function Menu({
  label,
  items,
  children,
}: {
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly children?: preact.ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    if (!isOpen) return;
    root.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const away = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', away);
    return () => document.removeEventListener('pointerdown', away);
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>('button')?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    const entries = [...root.current!.querySelectorAll<HTMLElement>('[role=menuitem]')];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }[event.key];
    if (event.key === 'Escape') close();
    else if (event.key === 'Tab') setOpen(false);
    else if (next !== undefined) entries.at(next % entries.length)?.focus();
    else return;
    if (event.key !== 'Tab') event.preventDefault();
  };
  return (
    <div class="menu" ref={root}>
      <button
        type="button"
        class={`button ${children === undefined ? 'quiet bare' : 'plain'}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!isOpen)}
      >
        {children ?? <Icon name="more" size={18} />}
      </button>
      {isOpen && (
        <div class="menu-list" role="menu" id={id} aria-label={label} tabIndex={-1} onKeyDown={onKey}>
          {items.map(({ name, icon, danger, forbidden, run }) => (
            <button
              key={name}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={danger ? 'danger' : ''}
              aria-disabled={forbidden !== undefined || undefined}
              title={forbidden}
              onClick={() => {
                close();
                if (forbidden !== undefined) toast(forbidden, 'bad');
                else void Promise.resolve(run()).catch((error: unknown) => toast(sentenceOf(error), 'bad'));
              }}
            >
              {icon && <Icon name={icon} size={18} />}
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
