/**
 * Forms: fields with their names, hints, and what the API says is wrong with them.
 */
import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { ApiError, sentenceOf } from '../errors.ts';
import { Icon } from './icon.tsx';
import { Failure } from './parts.tsx';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
}

/** A field of text. */
export function TextField({
  label,
  hint,
  error,
  onValue,
  ...input
}: FieldProps & {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly type?: 'text' | 'password' | 'number' | 'url';
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly autoFocus?: boolean;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={error !== undefined || undefined}
        aria-describedby={`${id}-hint`}
        {...(input as object)}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      <Below id={`${id}-hint`} hint={hint} error={error} />
    </div>
  );
}

/** The field of a name that must be given. */
export function NameField({
  form,
  ...field
}: {
  readonly form: Form;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly maxLength?: number;
}) {
  return <TextField label="Name" required maxLength={512} autoFocus error={form.errorOf('name')} {...field} />;
}

/** A choice of a few. */
export function SelectField({
  label,
  hint,
  error,
  value,
  options,
  onValue,
}: FieldProps & {
  readonly value: string;
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onValue: (value: string) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={`${id}-hint`}
        onChange={(event) => onValue(event.currentTarget.value)}
      >
        {options.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
      <Below id={`${id}-hint`} hint={hint} error={error} />
    </div>
  );
}

/** Something that is on or off. */
export function CheckField({
  label,
  hint,
  checked,
  disabled = false,
  onValue,
}: Pick<FieldProps, 'label' | 'hint'> & {
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onValue: (checked: boolean) => void;
}) {
  const id = useId();
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={`${id}-hint`}
        onChange={(event) => onValue(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{label}</label>
        <Below id={`${id}-hint`} hint={hint} />
      </div>
    </div>
  );
}

function Below({
  id,
  hint,
  error,
}: {
  readonly id: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
}) {
  return (
    <div id={id}>
      {error !== undefined && (
        <p class="field-error" role="alert">
          <Icon name="alert" size={16} />
          {error}
        </p>
      )}
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

/** A form that is being sent: whether it is, and what was wrong with it. Nothing typed is lost when sending fails. */
export function useForm(send: () => Promise<void>) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const sending = useRef(false);
  const submit = (event?: Event) => {
    event?.preventDefault();
    if (sending.current) return;
    sending.current = true;
    setBusy(true);
    setFailure(undefined);
    send()
      .catch((error: unknown) => setFailure(error ?? new Error('Something failed.')))
      .finally(() => {
        sending.current = false;
        setBusy(false);
      });
  };
  const field = failure instanceof ApiError ? failure.field : undefined;
  const isAbout = (name: string) => field === name || field?.startsWith(`${name}[`) || field?.startsWith(`${name}.`);
  return {
    isBusy,
    submit,
    /** The sentence about a field or, for a list, about one of its entries. */
    errorOf: (name: string) => (isAbout(name) ? sentenceOf(failure) : undefined),
    /** What is wrong and not about any of these fields. */
    otherError: (names: readonly string[] = []) => (names.some(isAbout) ? undefined : failure),
  };
}

/** A form that is being sent. */
export type Form = ReturnType<typeof useForm>;

/** What is wrong with a form and is not said beside one of its fields. @param props.fields those that say it themselves */
export function FormFailure({
  form,
  fields,
}: {
  readonly form: Form;
  readonly fields?: readonly string[] | undefined;
}) {
  const error = form.otherError(fields);
  return error === undefined ? null : <Failure error={error} />;
}
