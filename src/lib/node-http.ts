/**
 * What Millrace uses of `node:http`. An import by name would evaluate all exports of that module, and with them a whole HTTP client:
 * 40 ms and 16 MB at every start (Node 26.10).
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
