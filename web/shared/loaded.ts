/**
 * Parts of the dashboard whose scripts are loaded when they are first shown.
 */

/** A part, once it is loaded. After an upgrade of the server, the files of the page's own version are gone. */
export const loaded = <Part>(part: Promise<Part>): Promise<Part> =>
  part.catch(() => {
    throw new Error(
      'A part of the dashboard could not be loaded. The server may have a newer version: load this page again.',
    );
  });
