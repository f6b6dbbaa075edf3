/**
 * Choices of one among a few that are all in view.
 */
import type { ComponentChildren } from 'preact';

/** Tabs over what they choose. @param props.label what is chosen, for screen readers */
export function Tabs<Id extends string>({
  label,
  options,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly options: readonly (readonly [id: Id, name: string])[];
  readonly chosen: string;
  readonly onChoose: (id: Id) => void;
}) {
  return (
    <fieldset class="tabs" aria-label={label}>
      {options.map(([id, name]) => (
        <button key={id} type="button" aria-pressed={chosen === id} onClick={() => onChoose(id)}>
          {name}
        </button>
      ))}
    </fieldset>
  );
}

/** One of a few in a form, with what it means. */
export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly meaning: string;
}

/** A choice in a form. */
export function Choices<Each extends Choice>({
  name,
  legend,
  isLegendShown = true,
  options,
  chosen,
  onChoose,
  note,
}: {
  readonly name: string;
  readonly legend: string;
  readonly isLegendShown?: boolean;
  readonly options: readonly Each[];
  /** The id of the chosen one. */
  readonly chosen: string;
  readonly onChoose: (option: Each) => void;
  /** What stands at the end of an option. */
  readonly note?: (option: Each) => ComponentChildren;
}) {
  return (
    <fieldset class="choices">
      <legend class={isLegendShown ? undefined : 'visually-hidden'}>{legend}</legend>
      {options.map((each) => (
        <label key={each.id} class={each.id === chosen ? 'chosen' : ''}>
          <input type="radio" name={name} checked={each.id === chosen} onChange={() => onChoose(each)} />
          <span>
            <b>{each.name}</b>
            <small>{each.meaning}</small>
          </span>
          {note?.(each)}
        </label>
      ))}
    </fieldset>
  );
}
