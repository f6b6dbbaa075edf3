/**
 * Keeps objects as files of a folder. An object appears under its name as a whole or not at all: it is written under a temporary name, made
 * durable, and renamed.
 *
 * Calls to the file system are synchronous, so this engine is for worker threads. Asynchronous calls would use libuv's thread pool, and
 * while a disk hangs they would occupy its threads, of which the whole process has four.
 */
import {
  closeSync,
  copyFileSync,
  type Dirent,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { assertObjectName, assertObjectPrefix, isObjectName } from '#objects/object-name.ts';
import {
  type ByteSpan,
  type ObjectCall,
  type ObjectHead,
  type ObjectStore,
  ObjectStoreError,
} from '#objects/objects.ts';

/** Error codes of the system for which repeating the call does not help. */
const PERMANENT = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP']);

/** An object store in a folder. */
export class FolderStore implements ObjectStore {
  readonly #folder: string;
  #temporaries = 0;

  /** @param folder created when the first object is stored */
  constructor(folder: string) {
    this.#folder = resolve(folder);
  }

  async putFile(name: string, path: string, call?: ObjectCall): Promise<void> {
    this.#run('PUT', name, call, (target) => {
      if (isSameFile(path, target)) return;
      this.#write(target, (temporary) => copyFileSync(path, temporary));
    });
  }

  async put(name: string, bytes: Uint8Array, call?: ObjectCall): Promise<void> {
    this.#run('PUT', name, call, (target) =>
      this.#write(target, (temporary) => {
        using file = opened(temporary, 'wx');
        for (let done = 0; done < bytes.length; ) done += writeSync(file.descriptor, bytes, done);
      }),
    );
  }

  async get(name: string, span?: ByteSpan, call?: ObjectCall): Promise<Uint8Array | undefined> {
    return this.#run('GET', name, call, (target) => {
      if (!isFile(target)) return undefined;
      using file = opened(target, 'r');
      const { size } = fstatSync(file.descriptor);
      const { from, until } = span ?? { from: 0, until: size };
      if (from > until || until > size) throw new RangeError(`has ${size} bytes, not ${from} to ${until}`);
      const bytes = Buffer.allocUnsafe(until - from);
      for (let done = 0; done < bytes.length; ) {
        const read = readSync(file.descriptor, bytes, done, bytes.length - done, from + done);
        if (read === 0) throw new Error('became shorter while it was read');
        done += read;
      }
      return bytes;
    });
  }

  async head(name: string, call?: ObjectCall): Promise<ObjectHead | undefined> {
    return this.#run('HEAD', name, call, (target) => {
      const stats = statSync(target, { throwIfNoEntry: false });
      return stats?.isFile() ? { name, sizeBytes: stats.size } : undefined;
    });
  }

  async delete(name: string, call?: ObjectCall): Promise<void> {
    this.#run('DELETE', name, call, (target) => {
      try {
        unlinkSync(target);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    });
  }

  async *list(prefix: string, call?: ObjectCall): AsyncIterable<ObjectHead> {
    assertObjectPrefix(prefix);
    const at = prefix.lastIndexOf('/') + 1;
    yield* this.#list(prefix.slice(0, at), prefix.slice(at), call);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** @param folder empty, or a folder with `/` at its end. @param beginning the prefix of the names in it */
  *#list(folder: string, beginning: string, call: ObjectCall | undefined): Iterable<ObjectHead> {
    for (const entry of this.#entries(folder)) {
      call?.signal?.throwIfAborted();
      const name = folder + entry.name;
      if (!entry.name.startsWith(beginning) || !isObjectName(name)) continue;
      if (entry.isDirectory()) yield* this.#list(`${name}/`, '', call);
      else {
        const stats = statSync(join(this.#folder, name), { throwIfNoEntry: false });
        if (stats?.isFile()) yield { name, sizeBytes: stats.size };
      }
    }
  }

  #entries(folder: string): readonly Dirent[] {
    try {
      return readdirSync(join(this.#folder, folder), { withFileTypes: true });
    } catch (error) {
      if (isMissing(error)) return [];
      throw storeError('LIST', folder, error);
    }
  }

  /** Creates a file as a whole. @param fill writes the content to a temporary path */
  #write(target: string, fill: (temporary: string) => void): void {
    makeFolders(dirname(target));
    this.#temporaries += 1;
    const temporary = join(dirname(target), `.${process.pid}-${this.#temporaries}.tmp`);
    try {
      rmSync(temporary, { force: true });
      fill(temporary);
      using file = opened(temporary, 'r+');
      fdatasyncSync(file.descriptor);
      renameSync(temporary, target);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
    syncFolder(dirname(target));
  }

  #run<Result>(operation: string, name: string, call: ObjectCall | undefined, act: (target: string) => Result): Result {
    assertObjectName(name);
    call?.signal?.throwIfAborted();
    try {
      return act(join(this.#folder, name));
    } catch (error) {
      throw storeError(operation, name, error);
    }
  }
}

function storeError(operation: string, name: string, cause: unknown): ObjectStoreError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const isTemporary = code !== undefined && !PERMANENT.has(code);
  return new ObjectStoreError(`${operation} ${name}: ${code ?? message}`, { cause, isTemporary });
}

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code!);

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

function isSameFile(path: string, target: string): boolean {
  if (resolve(path) === target) return true;
  return isFile(target) && realpathSync(path) === realpathSync(target);
}

function opened(path: string, flags: string): Disposable & { readonly descriptor: number } {
  const descriptor = openSync(path, flags, 0o600);
  return { descriptor, [Symbol.dispose]: () => closeSync(descriptor) };
}

/** Creates a folder and the folders above it, and makes their names durable. */
function makeFolders(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) syncFolder(dirname(made));
}

/** Makes the names of the files in a folder durable. */
function syncFolder(folder: string): void {
  using file = opened(folder, 'r');
  fsyncSync(file.descriptor);
}
