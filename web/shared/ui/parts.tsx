/**
 * The small parts that every page is made of.
 */
import { computed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useMemo } from 'preact/hooks';
import { ApiError, sentenceOf } from '../errors.ts';
import { ago, clock, dateTime } from '../format.ts';
import { serverNow } from '../server-clock.ts';
import { second } from '../ticks.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import type { Tone } from './toast.tsx';

/** A word about a state. The word says it, the color repeats it. */
export function Badge({
  tone,
  dot = false,
  children,
}: {
  readonly tone: Tone | 'plain' | 'live';
  readonly dot?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <span class={`badge ${tone}`}>
      {dot && <span class="dot" aria-hidden="true" />}
      {children}
    </span>
  );
}

/** What a card is made of. */
export interface CardProps {
  readonly title?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly note?: ComponentChildren;
  /** Whether what is inside reaches the edges, as a table does. */
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}

/** A part of a page with a heading. */
export function Card({ title, actions, note, flush = false, children }: CardProps) {
  const id = useId();
  return (
    <section class={`card${flush ? ' flush' : ''}`} aria-labelledby={title === undefined ? undefined : id}>
      {(title !== undefined || actions !== undefined) && (
        <header>
          {title !== undefined && <h2 id={id}>{title}</h2>}
          {actions !== undefined && <div class="actions">{actions}</div>}
          {note !== undefined && <p class="note">{note}</p>}
        </header>
      )}
      <div class="body">{children}</div>
    </section>
  );
}

/** The top of a page. Its title is also that of the document. */
export function PageHead({
  title,
  back,
  badge,
  actions,
  children,
}: {
  readonly title: string;
  /** The list that the page belongs to. */
  readonly back?: { readonly href: string; readonly name: string };
  readonly badge?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
  return (
    <header class="page-head">
      {back && (
        <a class="back" href={back.href}>
          <Icon name="back" size={16} />
          {back.name}
        </a>
      )}
      <div class="line">
        <h1 dir="auto">{title}</h1>
        {badge}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children !== undefined && <p class="lead">{children}</p>}
    </header>
  );
}

/** What stands in place of an empty list: what the list is for, and what to do next. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <span class="medallion">
        <Icon name={icon} size={26} />
      </span>
      <p class="title">{title}</p>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** What went wrong, with a way to try again. */
export function Failure({ error, again }: { readonly error: unknown; readonly again?: () => void }) {
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <div class="message bad">
      <Icon name="alert" />
      <div>
        {/* The alert leaves out the id, because each repetition of the request has another one, which would be read aloud. */}
        <p role="alert">{sentenceOf(error)}</p>
        {requestId !== undefined && <p class="small">Request id for the operator: {requestId}</p>}
      </div>
      {again && (
        <Button small onPress={again}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A remark about what is around it. */
export function Message({
  tone,
  title,
  children,
  action,
}: {
  readonly tone: Tone;
  readonly title?: ComponentChildren;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}) {
  return (
    <div class={`message ${tone}`}>
      <Icon name={tone === 'ok' ? 'check' : tone === 'info' ? 'info' : 'alert'} />
      <div>
        {title !== undefined && <p class="strong">{title}</p>}
        {children !== undefined && <p>{children}</p>}
      </div>
      {action}
    </div>
  );
}

/** Lines that stand for what is being loaded. */
export function Loading({ lines = 3 }: { readonly lines?: number | undefined }) {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="bone" />
      ))}
    </div>
  );
}

/** A time as "3 min ago", kept up to date, with the exact time for who asks. @param at milliseconds by the server's clock; 0 means never */
export function Ago({ at }: { readonly at: number }) {
  // Long lists have hundreds of these. Only the texts that change are touched.
  const words = useMemo(() => computed(() => agoBy(second.value, at)), [at]);
  if (at === 0) return <span>never</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={dateTime(at)}>
      {words}
    </time>
  );
}

/** How long ago a time was. @param _second only makes it be asked again */
const agoBy = (_second: number, at: number): string => ago(at, serverNow());

/** A clock that runs since a moment. @param since milliseconds by the server's clock; nothing is shown while it is undefined */
export function Elapsed({ since }: { readonly since: number | undefined }) {
  void second.value;
  return since === undefined ? null : <span class="soft number">{clock((serverNow() - since) / 1000)}</span>;
}

/** A number with its name. */
export function Stat({
  name,
  value,
  tone,
  note,
}: {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly tone?: Tone | undefined;
  readonly note?: ComponentChildren;
}) {
  return (
    <div class={`stat${tone ? ` ${tone}` : ''}`}>
      <dt>{name}</dt>
      <dd>{value}</dd>
      {note !== undefined && <dd class="note">{note}</dd>}
    </div>
  );
}
