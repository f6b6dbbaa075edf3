/**
 * Makes a query end once its rows have a number of bytes, so that the server sends no more.
 */
import type { Query } from '#store/engine.ts';

/** What {@link firstRows} adds to each row. */
export interface MeasuredRow {
  /** The size of this row and those before it. */
  readonly bytes_so_far: number;
  /** How many rows the query finds without the limit. */
  readonly rows_in_all: number;
}

/** Makes the query for the rows up to the first one with which they have `maxBytes` or more. They keep their order. */
export function firstRows<Row>({ sql, parameters }: Query<Row>, maxBytes: number): Query<Row & MeasuredRow> {
  return {
    sql: `select * from (
      select page.*, sum(octet_length(page::text)) over (rows unbounded preceding) as bytes_so_far,
        sum(octet_length(page::text)) over (rows between unbounded preceding and 1 preceding) as bytes_before,
        count(*) over () as rows_in_all
      from (${sql}) as page
    ) as measured where coalesce(bytes_before, 0) < $${parameters.length + 1}`,
    parameters: [...parameters, maxBytes],
  };
}
