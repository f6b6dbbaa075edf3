/**
 * Buttons, and links that look like them.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { sentenceOf } from '../errors.ts';
import { Icon, type IconName } from './icon.tsx';
import { toast } from './toast.tsx';

/** How a button looks: one `primary` at most in view; `danger` cannot be undone. */
export type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger';

interface ButtonProps {
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  readonly small?: boolean;
  readonly type?: 'button' | 'submit';
  /** Why the button cannot be pressed: shown to everybody who tries. */
  readonly forbidden?: string | undefined;
  readonly busy?: boolean;
  /** What screen readers hear where there are no words on the button. */
  readonly label?: string;
  readonly pressed?: boolean;
  readonly expanded?: boolean;
  /** A promise keeps the button busy; what it throws is shown. */
  readonly onPress?: (() => void | Promise<unknown>) | undefined;
  readonly children?: ComponentChildren;
}

/** A button. */
export function Button({
  kind = 'plain',
  icon,
  small = false,
  type = 'button',
  forbidden,
  busy = false,
  label,
  pressed,
  expanded,
  onPress,
  children,
}: ButtonProps) {
  const [working, setWorking] = useState(false);
  const isBusy = busy || working;
  const press = (event: Event) => {
    if (forbidden !== undefined) {
      // Nor is the form sent, also not by the Enter key, which presses its button.
      event.preventDefault();
      toast(forbidden, 'bad');
      return;
    }
    const result = onPress?.();
    if (!(result instanceof Promise)) return;
    setWorking(true);
    result.catch((error: unknown) => toast(sentenceOf(error), 'bad')).finally(() => setWorking(false));
  };
  return (
    <button
      type={type}
      class={`button ${kind}${small ? ' small' : ''}${children === undefined ? ' bare' : ''}`}
      disabled={isBusy}
      aria-disabled={forbidden !== undefined || undefined}
      aria-label={label}
      title={forbidden ?? (children === undefined ? label : undefined)}
      aria-busy={isBusy || undefined}
      aria-pressed={pressed}
      aria-expanded={expanded}
      onClick={type === 'submit' && forbidden === undefined ? undefined : press}
    >
      {icon && <Icon name={icon} size={small ? 16 : 18} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink({
  href,
  kind = 'plain',
  icon,
  small = false,
  outside = false,
  children,
}: Pick<ButtonProps, 'kind' | 'icon' | 'small' | 'children'> & { readonly href: string; readonly outside?: boolean }) {
  return (
    <a
      class={`button ${kind}${small ? ' small' : ''}`}
      href={href}
      {...(outside && { target: '_blank', rel: 'noopener' })}
    >
      {icon && <Icon name={icon} size={small ? 16 : 18} />}
      <span>{children}</span>
    </a>
  );
}
