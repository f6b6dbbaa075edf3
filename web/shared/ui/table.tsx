/**
 * Tables. Where there is no room for their columns, each row folds into a card.
 */
import type { ComponentChildren } from 'preact';
import { hrefOf } from '../router.ts';

/** A column of a table. */
export interface Column<Row> {
  readonly name: string;
  /**
   * How it looks: `soft` for what matters less, `end` for amounts, which are aligned at their end. The names of `choose`, the boxes that choose rows,
   * and of `actions`, the buttons of a row, are heard from screen readers and not shown.
   */
  readonly kind?: 'soft' | 'end' | 'choose' | 'actions';
  /** The direction of text that does not have the page's. */
  readonly dir?: 'auto' | 'ltr';
  readonly cell: (row: Row) => ComponentChildren;
}

/** What a table is made of. */
export interface TableProps<Row> {
  /** What the table is about, for screen readers. */
  readonly caption: string;
  /** The first one with a shown name stands above the others where rows fold. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** What tells a row from others; without it, its id, or else its place in the list. */
  readonly keyOf?: ((row: Row) => string | number | undefined) | undefined;
  readonly folds?: boolean;
}

/** A table. */
export function DataTable<Row extends object>({ caption, columns, rows, keyOf, folds = true }: TableProps<Row>) {
  const heading = columns.findIndex(({ kind }) => !isUnnamed(kind));
  return (
    <div class={`table-scroll${folds ? ' folds' : ''}`}>
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, kind }) => (
              <th key={name} class={kind === 'end' || kind === 'choose' ? kind : undefined}>
                {isUnnamed(kind) ? <span class="visually-hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf ? keyOf(row) : 'id' in row ? String(row.id) : index}>
              {columns.map(({ name, kind, dir, cell }, at) => (
                <td
                  key={name}
                  data-name={folds && at > heading && !isUnnamed(kind) ? name : undefined}
                  class={kind === 'actions' ? 'end' : kind}
                  dir={dir}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const isUnnamed = (kind: Column<never>['kind']): boolean => kind === 'choose' || kind === 'actions';

/** The name of what a row is about, which leads to its page. @param props.to the path of the page below `/dashboard` */
export function NameLink({ to, children }: { readonly to: string; readonly children: string }) {
  return (
    <a class="name" dir="auto" href={hrefOf(to)}>
      {children}
    </a>
  );
}
