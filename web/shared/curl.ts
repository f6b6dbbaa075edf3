/**
 * Makes the curl command that does the same as a button, for users who write programs.
 */

/** A command for a shell. The key is left for the reader to fill in. */
export function curlOf(api: string, method: string, path: string, body?: unknown): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(api + path)}`,
    `-H "authorization: Bearer $KEY"`,
  ];
  if (body !== undefined) lines.push("-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(' \\\n  ');
}

/** Text in single quotes, which a shell reads as it is. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
