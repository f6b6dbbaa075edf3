/**
 * `millrace listen`: a receiver of webhooks for trying them out. It prints every delivery, and whether its signatures are valid.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { createServer } from '#lib/node-http.ts';
import { signatureProblem } from '#webhooks/signature.ts';
import { readSimpleArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { EXIT, Exit, wrongUsage } from './exit-code.ts';
import { stopSignal } from './stop-signal.ts';

const COMMAND = 'millrace listen';
const DEFAULT_PORT = 9999;
/** The largest delivery that is read. */
const MAX_BODY_BYTES = 1024 * 1024;

/** The subcommand. */
export const listen: Command = {
  name: 'listen',
  summary: 'Receive webhooks, print them and check their signatures',
  words: ['--port', '--secret-file', '--status'],
  help: () => `Usage: millrace listen [--port PORT] [--secret-file FILE] [--status STATUS]

Receives webhooks on this machine until Ctrl-C, and prints each delivery and whether its signatures are valid.

  --port PORT          the port to listen on at 127.0.0.1, ${DEFAULT_PORT} by default; 0 = any free port
  --secret-file FILE   a file with the webhook's sharedSecret; - reads it from standard input. Without a secret, no signature is checked
  --status STATUS      the HTTP status of every answer, 200 by default; with 300 or more, the server retries deliveries

A server sends webhooks to private addresses such as this one only if it runs with MILLRACE_WEBHOOKS_ALLOW_PRIVATE=1.`,
  run: async (args) => {
    const { port, secretFile, status } = readOptions(args);
    const secret = secretFile === undefined ? undefined : readSecret(secretFile);
    const server = createServer((request, response) => {
      void receive(request, secret).then(
        (line) => {
          console.log(line);
          response.writeHead(status).end();
        },
        () => response.writeHead(413).end(),
      );
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening').catch((error: unknown) => {
      throw new Exit(
        EXIT.cannotListen,
        [`The command cannot listen on port ${port}; choose another one with --port.`],
        {
          cause: error,
        },
      );
    });
    const stopped = stopSignal();
    console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/ ; Ctrl-C stops it.`);
    await stopped;
    server.closeAllConnections();
    server.close();
  },
};

function readOptions(args: readonly string[]) {
  const sentence =
    'Give --port a number from 0 to 65535, --status one from 200 to 599, and no other argument than --secret-file FILE.';
  const { options } = readSimpleArguments(args, { options: ['port', 'secret-file', 'status'] }, sentence, COMMAND);
  const port = integerOf(options.port ?? String(DEFAULT_PORT), 0, 65_535);
  const status = integerOf(options.status ?? '200', 200, 599);
  if (port !== undefined && status !== undefined) return { port, status, secretFile: options['secret-file'] };
  throw wrongUsage(sentence, COMMAND);
}

function integerOf(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function readSecret(file: string): Secret {
  let text: string;
  try {
    text = readFileSync(file === '-' ? process.stdin.fd : file, 'utf8').trim();
  } catch (error) {
    throw new Exit(EXIT.usage, ['The file with the secret cannot be read.'], { cause: error });
  }
  if (text === '') throw new Exit(EXIT.usage, ['The file with the secret is empty.']);
  return new Secret(text);
}

/** Reads a delivery, and returns the text to print. @throws {Error} when it is too large */
async function receive(request: IncomingMessage, secret: Secret | undefined): Promise<string> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    sizeBytes += piece.length;
    if (sizeBytes > MAX_BODY_BYTES) throw new Error('the delivery is too large');
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces).toString();
  return `${judgement(request, text, secret)}\n${printable(text)}\n`;
}

function judgement({ headers }: IncomingMessage, text: string, secret: Secret | undefined): string {
  if (secret === undefined) return 'The signatures are not checked; name the file with the secret with --secret-file.';
  const single = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const problem = signatureProblem(single, text, secret, systemClock.now());
  return problem === undefined ? 'The signatures are valid.' : `NOT GENUINE: ${problem}`;
}

/** Indents JSON, and escapes characters that could control the terminal. */
function printable(text: string): string {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Text that is not JSON is printed as it is.
  }
  return shown.replace(/[^\n\P{C}]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
