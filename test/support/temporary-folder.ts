/**
 * Temporary folders, which last as long as a test or a measurement.
 */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes an empty folder, which is removed when it is disposed. @param parent where it is made, if the disk matters */
export const temporaryFolder = (parent = tmpdir()): ReturnType<typeof mkdtempDisposable> =>
  mkdtempDisposable(join(parent, 'millrace-test-'));
