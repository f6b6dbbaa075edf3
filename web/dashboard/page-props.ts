/** The properties of a page: the values of the `:names` in its pattern. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}
