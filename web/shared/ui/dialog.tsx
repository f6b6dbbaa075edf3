/**
 * Dialogs over the page. The browser keeps the focus inside and gives it back.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { TextField, useForm } from './form.tsx';
import { Failure } from './parts.tsx';

/** A dialog, open for as long as it is rendered. */
export function Dialog({
  title,
  wide = false,
  onClose,
  children,
}: {
  readonly title: string;
  readonly wide?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const own = dialog.current!;
    own.showModal();
    // A press beside the dialog closes it, as Escape does.
    const away = (event: Event) => event.target === own && onClose();
    own.addEventListener('click', away);
    return () => own.removeEventListener('click', away);
  }, []);
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <div class="inside">
        <header>
          <h2 id={id} dir="auto">
            {title}
          </h2>
          <Button kind="quiet" icon="close" label="Close" onPress={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** The buttons at the end of a dialog. */
export function DialogActions({ children }: { readonly children: ComponentChildren }) {
  return <footer class="dialog-actions">{children}</footer>;
}

/** Asks before something that cannot be undone. */
export function Confirm({
  title,
  children,
  action,
  typed,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The words on the button: what happens. */
  readonly action: string;
  /** A text that must be typed first, for what concerns many things at once. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState('');
  const form = useForm(async () => {
    await onConfirm();
    onClose();
  });
  const isReady = typed === undefined || text === typed;
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={form.submit}>
        <div class="prose">{children}</div>
        {typed !== undefined && (
          <TextField label={`Type “${typed}” to confirm`} value={text} onValue={setText} autoFocus />
        )}
        {form.otherError() !== undefined && <Failure error={form.otherError()} />}
        <DialogActions>
          <Button onPress={onClose}>Cancel</Button>
          <Button
            kind="danger"
            type="submit"
            busy={form.isBusy}
            forbidden={isReady ? undefined : 'Type the text first.'}
          >
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
