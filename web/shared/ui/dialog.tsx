/**
 * Dialogs over the page. The browser keeps the focus inside.
 */
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { change } from '../api.ts';
import type { ApiChange } from '../curl.ts';
import { Button } from './button.tsx';
import { CopyCurl } from './copy.tsx';
import { type Form, FormFailure, TextField, useForm } from './form.tsx';
import { Toasts } from './toast.tsx';

/**
 * Shows a dialog over the page for as long as it is rendered. Afterwards the focus returns to where it was.
 * @returns a reference to its element
 */
export function useModal(onClose: () => void): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const own = dialog.current!;
    const before = document.activeElement;
    own.showModal();
    // A press beside the dialog closes it, as Escape does. A selection of text that begins in the dialog and ends beside it also causes a
    // `click` on the dialog element, so the place of the press decides.
    let isBeside = false;
    const press = (event: Event) => {
      isBeside = event.target === own;
    };
    const away = (event: Event) => isBeside && event.target === own && close.current();
    own.addEventListener('pointerdown', press);
    own.addEventListener('click', away);
    return () => {
      own.removeEventListener('pointerdown', press);
      own.removeEventListener('click', away);
      // The browser gives the focus back when a dialog is closed, but not when it is removed, which happens right after this.
      queueMicrotask(() => giveFocusBack(before));
    };
  }, []);
  return dialog;
}

/** Gives the focus to an element, or to the page when that is gone, unless something else has it. */
function giveFocusBack(element: Element | null): void {
  if (document.activeElement !== document.body) return;
  const place = element?.isConnected && element !== document.body ? element : document.getElementById('content');
  (place as HTMLElement | null)?.focus({ preventScroll: true });
}

/**
 * A dialog, open for as long as it is rendered.
 * @param props.isBusy whether a request is in progress. Nothing closes the dialog until its answer can be shown
 */
export function Dialog({
  title,
  wide = false,
  isBusy = false,
  onClose,
  children,
}: {
  readonly title: string;
  readonly wide?: boolean | undefined;
  readonly isBusy?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useModal(() => isBusy || onClose());
  const id = useId();
  // Chromium closes a dialog at the second Escape even if `cancel` is prevented.
  const closed = () => (isBusy ? dialog.current?.showModal() : onClose());
  return (
    <dialog
      ref={dialog}
      class={wide ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => isBusy && event.preventDefault()}
      onClose={closed}
    >
      <div class="inside">
        <header>
          <h2 id={id} dir="auto">
            {title}
          </h2>
          <Button kind="quiet" icon="close" label="Close" busy={isBusy} onPress={onClose} />
        </header>
        {children}
      </div>
      <Toasts />
    </dialog>
  );
}

/** The buttons at the end of a dialog. */
export function DialogActions({ children }: { readonly children: ComponentChildren }) {
  return <footer class="dialog-actions">{children}</footer>;
}

/** What a form in a dialog is made of. */
export interface DialogFormProps {
  readonly form: Form;
  /** The fields that say themselves what is wrong with them. */
  readonly fields?: readonly string[];
  /** The words on the button: what happens. */
  readonly action: string;
  /** `danger` for what cannot be undone. */
  readonly kind?: 'primary' | 'danger';
  /** Why the form cannot be sent yet. */
  readonly forbidden?: string | undefined;
  /** What sending the form changes, which can be copied as curl commands. */
  readonly changes: readonly ApiChange[];
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A form in a dialog: its fields, what is wrong with it, and the buttons that give up and send. */
export function DialogForm({
  form,
  fields,
  action,
  kind = 'primary',
  forbidden,
  changes,
  onClose,
  children,
}: DialogFormProps) {
  return (
    <form onSubmit={form.submit}>
      {children}
      <FormFailure form={form} fields={fields} />
      <DialogActions>
        <CopyCurl changes={changes} />
        <Button busy={form.isBusy} onPress={onClose}>
          Cancel
        </Button>
        <Button kind={kind} type="submit" busy={form.isBusy} forbidden={forbidden}>
          {action}
        </Button>
      </DialogActions>
    </form>
  );
}

/** A dialog that is a form. */
export function FormDialog({
  title,
  wide,
  ...form
}: DialogFormProps & { readonly title: string; readonly wide?: boolean | undefined }) {
  return (
    <Dialog title={title} wide={wide} isBusy={form.form.isBusy} onClose={form.onClose}>
      <DialogForm {...form} />
    </Dialog>
  );
}

/** Asks before something that cannot be undone. */
export function Confirm({
  title,
  children,
  action,
  typed,
  changes,
  send,
  onDone,
  onClose,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The words on the button: what happens. */
  readonly action: string;
  /** A text that must be typed first, for what concerns many things at once. */
  readonly typed?: string;
  /** What is sent to the API, one after another. */
  readonly changes: readonly ApiChange[];
  /** Sends the changes in place of the default, which sends one after another. */
  readonly send?: () => Promise<unknown>;
  /** Called with the last answer. */
  readonly onDone?: (answer: unknown) => void;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState('');
  const form = useForm(async () => {
    let answer = await send?.();
    for (const each of send ? [] : changes) answer = await change(...each);
    onDone?.(answer);
    onClose();
  });
  const isReady = typed === undefined || text === typed;
  return (
    <FormDialog
      title={title}
      form={form}
      action={action}
      kind="danger"
      forbidden={isReady ? undefined : 'Type the text first.'}
      changes={changes}
      onClose={onClose}
    >
      <div class="prose">{children}</div>
      {typed !== undefined && (
        <TextField label={`Type “${typed}” to confirm`} value={text} onValue={setText} autoFocus />
      )}
    </FormDialog>
  );
}
