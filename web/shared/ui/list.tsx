/**
 * Shows data of the API: while it is loaded, when loading failed, and once it has arrived.
 */
import type { ComponentChildren } from 'preact';
import type { Data, Pages } from '../data.ts';
import { Button } from './button.tsx';
import { Card, type CardProps, Failure, Loading } from './parts.tsx';
import { DataTable, type TableProps } from './table.tsx';

interface WaitingProps {
  readonly data: Pick<Data<unknown>, 'error' | 'reload'>;
  /** How many lines stand for it while it is loaded. */
  readonly lines?: number | undefined;
}

/** What stands in place of data that is not there: that it is being loaded, or why it was not. */
export function Waiting({ data, lines }: WaitingProps) {
  return data.error === undefined ? <Loading lines={lines} /> : <Failure error={data.error} again={data.reload} />;
}

/** Data that is there, below the reason why it could not be loaded again; or what stands in its place. */
export function Loaded<Value>({
  data,
  lines,
  children,
}: WaitingProps & {
  readonly data: Pick<Data<Value>, 'value'>;
  readonly children: (value: Value) => ComponentChildren;
}) {
  const { value, error } = data;
  return (
    <>
      {(value === undefined || error !== undefined) && <Waiting data={data} lines={lines} />}
      {value !== undefined && children(value)}
    </>
  );
}

/** A card with a table of what the API lists, its other pages for whoever asks. */
export function ListCard<Row extends object>({
  data,
  lines,
  empty,
  above,
  caption,
  columns,
  keyOf,
  children,
  ...card
}: Omit<CardProps, 'flush' | 'children'> &
  Omit<TableProps<Row>, 'rows' | 'folds'> &
  WaitingProps & {
    readonly data: Pick<Data<readonly Row[]>, 'value'> &
      Partial<Pick<Pages<never>, 'hasMore' | 'more' | 'hasPrevious' | 'previous'>>;
    /** What stands in place of a list without rows; without it, the table does. */
    readonly empty?: ComponentChildren;
    /** What chooses the rows. */
    readonly above?: ComponentChildren;
    /** The dialogs about its rows. */
    readonly children?: ComponentChildren;
  }) {
  return (
    <Card {...card} flush>
      {above}
      {data.hasPrevious && (
        <div class="more">
          <Button onPress={data.previous}>Show previous</Button>
        </div>
      )}
      <Loaded data={data} lines={lines}>
        {(rows) =>
          rows.length === 0 && empty !== undefined && !data.hasPrevious ? (
            empty
          ) : (
            <DataTable caption={caption} columns={columns} rows={rows} keyOf={keyOf} />
          )
        }
      </Loaded>
      {data.hasMore && (
        <div class="more">
          <Button onPress={data.more}>Show more</Button>
        </div>
      )}
      {children}
    </Card>
  );
}
