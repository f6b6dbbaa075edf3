/**
 * Explains in one sentence why the server cannot listen on an address, and which setting to change.
 */
import { type Config, PREFIX, SETTINGS } from '#config.ts';
import { EXIT, Exit } from './exit-code.ts';

const PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use; stop the program that uses it',
  EACCES: 'may only be used by privileged programs; allow the server to use it (CAP_NET_BIND_SERVICE on Linux)',
  EADDRNOTAVAIL: 'does not belong to this machine; use one that does',
  ENOTFOUND: 'is not a known host; use an address of this machine',
};

/** Makes the exit for an error of `listen`. Returns undefined for any other error. */
export function cannotListen(error: unknown, config: Config): Exit | undefined {
  const {
    code = '',
    address,
    hostname,
    port,
  } = error as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly hostname?: string;
    readonly port?: number;
  };
  const problem = PROBLEMS[code];
  const host = address ?? hostname;
  if (problem === undefined || host === undefined) return undefined;
  const { http, ingest } = SETTINGS;
  const listeners = [
    { host: http.host, port: http.port, at: [config.http.host, config.http.port] },
    { host: ingest.rtmpHost, port: ingest.rtmpPort, at: [config.ingest.rtmpHost, config.ingest.rtmpPort] },
    { host: ingest.rtmpHost, port: ingest.rtmpsPort, at: [config.ingest.rtmpHost, config.ingest.rtmpsPort] },
    { host: http.metricsHost, port: http.metricsPort, at: [config.http.metricsHost, config.http.metricsPort] },
  ];
  const isAboutPort = code === 'EADDRINUSE' || code === 'EACCES';
  const found = listeners.find(({ at }) => (isAboutPort ? at[1] === port : at[0] === host));
  const place = isAboutPort ? `Port ${port} of ${host}` : `The address ${host}`;
  const way = found ? `, or set ${PREFIX}${(isAboutPort ? found.port : found.host).name} to another one` : '';
  return new Exit(EXIT.cannotListen, [`${place} ${problem}${way}.`], { cause: error });
}
