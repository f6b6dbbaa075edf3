/**
 * Writes what is shown only once to standard output, which may be a file on a full disk.
 */

/** Writes a line to standard output. @throws {Error} a system error when it cannot be written, as with a full disk or a closed pipe */
export async function printLine(line: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // The stream also emits the error as an event, which would end the process if nothing listened.
  process.stdout.once('error', reject);
  process.stdout.write(`${line}\n`, (error) => (error ? reject(error) : resolve()));
  await promise;
}
