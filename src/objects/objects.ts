/**
 * The contract of `objects`: where closed files of recordings live. A name is the path of a recording, `/`, and the name of a file, which may
 * begin with the id of a rendition: parts of ASCII letters, digits, `-`, `_`, `~` and `.`, which do not begin with a dot, separated by `/`. An
 * object never changes once it exists, except that a manifest may be replaced as a whole. Every engine passes the suite in
 * `objects.contract.ts`.
 */

/** What a store knows of an object. */
export interface ObjectHead {
  readonly name: string;
  readonly sizeBytes: number;
}

/** A range of bytes, the end excluded. */
export interface ByteSpan {
  readonly from: number;
  readonly until: number;
}

/** Conditions of a call. */
export interface ObjectCall {
  /** Ends the call when it aborts; the call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Keeps objects. Every call rejects with an `ObjectStoreError` when the store does not answer as it should within a time limit. After such an
 * error of `putFile` it is unknown whether the object exists. Repeating a call is harmless.
 */
export interface ObjectStore extends AsyncDisposable {
  /** Stores a file of this machine, which must not change in the meantime. Resolves once the object is durable. */
  putFile(name: string, path: string, call?: ObjectCall): Promise<void>;
  /** Stores bytes. Resolves once the object is durable. */
  put(name: string, bytes: Uint8Array, call?: ObjectCall): Promise<void>;
  /** Reads a range that lies within the object, or all of it. Undefined when there is no such object. */
  get(name: string, span?: ByteSpan, call?: ObjectCall): Promise<Uint8Array | undefined>;
  /** Undefined when there is no such object. */
  head(name: string, call?: ObjectCall): Promise<ObjectHead | undefined>;
  /** Deletes an object. No error when there is none. */
  delete(name: string, call?: ObjectCall): Promise<void>;
  /** Lists the objects whose names begin with a prefix, in any order. */
  list(prefix: string, call?: ObjectCall): AsyncIterable<ObjectHead>;
}

/** An object store that failed to answer. Its message has no secret and may be logged. */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError';
  /** Whether repeating the call later may help: false for wrong credentials and refused requests. */
  readonly isTemporary: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isTemporary: boolean }) {
    super(message, options);
    this.isTemporary = options.isTemporary;
  }
}
