/**
 * The contract of `objects`: stores for the closed files of recordings.
 *
 * The name of an object is the path of a recording, `/`, and the name of a file. It consists of parts that are separated by `/`. A part has
 * ASCII letters, digits, `-`, `_`, `~` and `.`, and does not begin with a dot. The bytes of an object never change in place. It may only be
 * replaced as a whole. Every engine passes the suite in `objects.contract.ts`.
 */

/** The name and the size of an object. */
export interface ObjectHead {
  readonly name: string;
  readonly sizeBytes: number;
}

/** A range of bytes, the end excluded. */
export interface ByteSpan {
  readonly from: number;
  readonly until: number;
}

/** The options of a call. */
export interface ObjectCall {
  /** When it aborts, the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Keeps objects. Every call rejects with an {@link ObjectStoreError} when the store fails or does not answer in time, and with a
 * `RangeError` for a name that no object may have. After an error of `put` or `putFile` it is unknown whether the object exists. Repeating
 * a call is harmless. Disposing a store aborts its calls.
 */
export interface ObjectStore extends AsyncDisposable {
  /**
   * Stores a file of this machine, which must not change until the call has ended. It may block the thread. Resolves once the object is
   * durable.
   */
  putFile(name: string, path: string, call?: ObjectCall): Promise<void>;
  /** Stores bytes. Resolves once the object is durable. */
  put(name: string, bytes: Uint8Array, call?: ObjectCall): Promise<void>;
  /**
   * Reads a range of an object, or all of one of up to 8 MiB. Undefined when there is no such object. A range that reaches beyond the end
   * is an error.
   */
  get(name: string, span?: ByteSpan, call?: ObjectCall): Promise<Uint8Array | undefined>;
  /** Looks up the size of an object. Undefined when there is no such object. */
  head(name: string, call?: ObjectCall): Promise<ObjectHead | undefined>;
  /** Deletes an object. Does nothing when there is none. */
  delete(name: string, call?: ObjectCall): Promise<void>;
  /** Lists the objects whose names begin with a prefix, in any order. */
  list(prefix: string, call?: ObjectCall): AsyncIterable<ObjectHead>;
}

/** An object store failed. The message has no secrets and may be logged. */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError';
  /** Whether repeating the call later may help: false for wrong credentials and refused requests. */
  readonly isTemporary: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isTemporary: boolean }) {
    super(message, options);
    this.isTemporary = options.isTemporary;
  }
}
