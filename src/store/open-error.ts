/**
 * The catalogue of reasons why a store cannot be opened, each with an explanation for the operator.
 */

/** The text for each code. `place` is the affected folder or file, `detail` the system's message. */
const SENTENCES = {
  no_folder: (place: string, detail: string) =>
    `The data folder ${place} cannot be created (${detail}); create it, or set MILLRACE_DATA_DIR to another one.`,
  not_a_folder: (place: string) => `${place} exists but is not a folder; set MILLRACE_DATA_DIR to a folder.`,
  read_only: (place: string, detail: string) =>
    `${place} cannot be written to (${detail}); give the user who runs Millrace the right to, or set MILLRACE_DATA_DIR to another folder.`,
  in_use: (place: string) =>
    `The data folder ${place} is in use by another Millrace server; stop that server, or set MILLRACE_DATA_DIR to another folder.`,
  disk_full: (place: string) => `The disk of ${place} is full; free some space and start again.`,
  newer_schema: (place: string, detail: string) =>
    `The database ${place} was written by a newer Millrace (it has the migration ${detail}); run that version or a later one.`,
  outdated_schema: (place: string) =>
    `The database ${place} has the schema of an older Millrace, whose server is still running; restart the server with this version first.`,
  not_a_database: (place: string, detail: string) =>
    `${place} is not a database or is damaged (${detail}); restore it from a backup, or move it away to start empty.`,
  no_store: (place: string) =>
    `There is no database ${place}; start the server once, or set MILLRACE_DATA_DIR to its folder.`,
  empty_database: (place: string) =>
    `The database ${place} holds no Millrace store; start the server once, or correct MILLRACE_DATABASE_URL.`,
  not_a_backup: (place: string, detail: string) =>
    `${place} is not a backup of Millrace (${detail}); nothing was changed. Name a file that millrace backup has written.`,
  not_readable: (place: string, detail: string) =>
    `${place} cannot be read (${detail}); nothing was changed. Name a file that the user who runs this command may read.`,
  not_written: (place: string, detail: string) =>
    `${place} cannot be written (${detail}); name a file in a folder that you may write to and that has the space.`,
  no_node_id: (place: string) => `${place} does not hold the id of a node; remove it to get a new one.`,
  database_url: () =>
    'MILLRACE_DATABASE_URL is not one that PostgreSQL understands; write postgres://user:password@host:5432/database.',
  no_connection: (place: string, detail: string) =>
    `PostgreSQL at ${place} cannot be reached (${detail}); start it, or correct MILLRACE_DATABASE_URL.`,
  no_encryption: (place: string, detail: string) =>
    `PostgreSQL at ${place} cannot be reached over TLS (${detail}); correct sslmode or the certificates named in MILLRACE_DATABASE_URL.`,
  login_refused: (place: string) =>
    `PostgreSQL at ${place} refuses the user or password of MILLRACE_DATABASE_URL; correct them, or allow the user in its pg_hba.conf.`,
  no_database: (place: string) =>
    `PostgreSQL at ${place.replace(/\/[^/]*$/, '')} has no database with that name (${place}); create it, or correct MILLRACE_DATABASE_URL.`,
  no_rights: (place: string, detail: string) =>
    `The user of MILLRACE_DATABASE_URL may not create or use tables in ${place} (${detail}); make it the database's owner.`,
  old_server: (place: string, detail: string) =>
    `PostgreSQL at ${place} has version ${detail}, which is too old; use 14 or later.`,
  standby: (place: string) =>
    `PostgreSQL at ${place} is a standby that can only be read; name the primary in MILLRACE_DATABASE_URL.`,
  busy_schema: (place: string) =>
    `Another process has been bringing the schema of ${place} up to date for a long time; start again when it is done.`,
  unusable: (place: string, detail: string) => `The database ${place} cannot be used (${detail}).`,
} as const;

/** A code of the catalogue. */
export type StoreOpenErrorCode = keyof typeof SENTENCES;

/** The store cannot be opened. The message is one sentence without secrets, which the command line prints unchanged. */
export class StoreOpenError extends Error {
  readonly code: StoreOpenErrorCode;

  /**
   * @param place path of the affected folder or file
   * @param detail the system's message, or the name that the text needs
   */
  constructor(code: StoreOpenErrorCode, place: string, detail = '', options?: { cause?: unknown }) {
    super(SENTENCES[code](place, detail), options);
    this.name = 'StoreOpenError';
    this.code = code;
  }
}
