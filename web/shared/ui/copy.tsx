/**
 * Texts to be copied, secret ones covered until they are asked for.
 */
import { useRef, useState } from 'preact/hooks';
import { change } from '../api.ts';
import { type ApiChange, curlOf } from '../curl.ts';
import { sentenceOf } from '../errors.ts';
import { API } from '../place.ts';
import { Button } from './button.tsx';
import { toast } from './toast.tsx';

/** Copies a text. `navigator.clipboard` is missing where the connection is not secure; a selected text can be copied there. */
export async function copyText(text: string, beside: HTMLElement = document.body): Promise<void> {
  if (navigator.clipboard !== undefined) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Beside the button, because everything outside of an open dialog is inert.
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  beside.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('This browser does not let the page copy; select the text and copy it.');
}

const DONE_MS = 1800;

/** A button that copies. */
export function CopyButton({
  text,
  what,
  words,
  kind = 'quiet',
}: {
  readonly text: string | (() => string);
  /** Completes "Copy ..." */
  readonly what: string;
  /** Shown on the button; without it, there is only the icon. */
  readonly words?: string;
  readonly kind?: 'plain' | 'quiet' | 'primary';
}) {
  const place = useRef<HTMLSpanElement>(null);
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await copyText(typeof text === 'string' ? text : text(), place.current!);
    setDone(true);
    setTimeout(() => setDone(false), DONE_MS);
    toast(`Copied ${what}.`);
  };
  return (
    <span class="copy" ref={place}>
      <Button
        kind={kind}
        small
        icon={isDone ? 'check' : 'copy'}
        {...(words === undefined && { label: `Copy ${what}` })}
        onPress={copy}
      >
        {words}
      </Button>
    </span>
  );
}

/** A button that copies the curl commands for changes. */
export function CopyCurl({ changes }: { readonly changes: readonly ApiChange[] }) {
  return <CopyButton text={() => curlsOf(changes)} what="this as a curl command" words="Copy as curl" />;
}

/** Says what was done by the press of a button, and offers the curl commands that do the same. */
export function toastDone(text: string, ...changes: readonly ApiChange[]): void {
  const copy = async () => {
    await copyText(curlsOf(changes));
    toast('Copied this as a curl command.');
  };
  const run = () => void copy().catch((error: unknown) => toast(sentenceOf(error), 'bad'));
  toast(text, 'ok', changes.length === 0 ? undefined : { name: 'Copy as curl', run });
}

/** Makes a change at the press of a button, and then says so with {@link toastDone}. @throws {ApiError} */
export async function changeNow(done: string, ...sent: ApiChange): Promise<void> {
  await change(...sent);
  toastDone(done, sent);
}

const curlsOf = (changes: readonly ApiChange[]): string => changes.map((each) => curlOf(API, ...each)).join('\n');

/** A text with its name and a button to copy it. */
export function CopyField({
  name,
  value,
  secret = false,
  hint,
  actions,
}: {
  readonly name: string;
  readonly value: string;
  readonly secret?: boolean;
  readonly hint?: string;
  readonly actions?: preact.ComponentChildren;
}) {
  // The value that was uncovered is remembered, so that a new value in its place is covered.
  const [shown, setShown] = useState<string | undefined>();
  const isShown = !secret || shown === value;
  return (
    <div class="copy-field">
      <span class="label">{name}</span>
      <div class="box">
        <code dir="ltr">
          {isShown ? (
            value
          ) : (
            <>
              <span class="visually-hidden">covered</span>
              <span aria-hidden="true">{'•'.repeat(Math.min(19, value.length))}</span>
            </>
          )}
        </code>
        {secret && (
          <Button
            kind="quiet"
            small
            icon="eye"
            label={isShown ? `Cover ${name}` : `Show ${name}`}
            pressed={isShown}
            onPress={() => setShown(isShown ? undefined : value)}
          />
        )}
        <CopyButton text={value} what={name.toLowerCase()} />
        {actions}
      </div>
      {hint && <span class="hint">{hint}</span>}
    </div>
  );
}
