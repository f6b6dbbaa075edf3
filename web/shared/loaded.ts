/**
 * Parts of the dashboard whose scripts are loaded when they are first shown.
 */

/** Waits for a part to be loaded. Fails with a sentence for the user: after an upgrade, the files of an open page are gone. */
export const loaded = <Part>(part: Promise<Part>): Promise<Part> =>
  part.catch(() => {
    throw new Error(
      'A part of the dashboard could not be loaded. The server may have a newer version: load this page again.',
    );
  });
