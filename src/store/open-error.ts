/**
 * Why a store cannot be opened: the catalogue, each reason a sentence for the one who starts Millrace.
 */

/** What is wrong, by code. `place` is the folder or file it is about, `detail` the system's own words. */
const SENTENCES = {
  no_folder: (place: string, detail: string) =>
    `The data folder ${place} cannot be made (${detail}); create it, or set MILLRACE_DATA_DIR to another one.`,
  read_only: (place: string, detail: string) =>
    `${place} cannot be written to (${detail}); give the user who runs Millrace the right to, or set MILLRACE_DATA_DIR to another folder.`,
  in_use: (place: string) =>
    `The data folder ${place} is in use by another Millrace server; stop that one, or set MILLRACE_DATA_DIR to another folder.`,
  disk_full: (place: string) => `The disk of ${place} is full; free some space and start again.`,
  newer_schema: (place: string, detail: string) =>
    `The database ${place} was written by a newer Millrace (it has the migration ${detail}); run that version or a later one.`,
  outdated_schema: (place: string) =>
    `The database ${place} is of an older Millrace and its server is still running; restart the server with this version first.`,
  not_a_database: (place: string, detail: string) =>
    `${place} is not a database or is damaged (${detail}); restore it from a backup, or move it away to start empty.`,
  unusable: (place: string, detail: string) => `The database ${place} cannot be used (${detail}).`,
} as const;

/** A code of the catalogue. */
export type StoreOpenErrorCode = keyof typeof SENTENCES;

/** The store cannot be opened. The message is one sentence that the command line prints as it is; it holds no secret. */
export class StoreOpenError extends Error {
  readonly code: StoreOpenErrorCode;

  /**
   * @param place path of the folder or file it is about
   * @param detail the system's words, or the name the sentence needs
   */
  constructor(code: StoreOpenErrorCode, place: string, detail = '', options?: { cause?: unknown }) {
    super(SENTENCES[code](place, detail), options);
    this.name = 'StoreOpenError';
    this.code = code;
  }
}
