/**
 * Makes the curl command that does the same as a button, for users who write programs.
 */

/** A change that is sent to the API: the path is below the API, the body is JSON. */
export type ApiChange = readonly [method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown];

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
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
