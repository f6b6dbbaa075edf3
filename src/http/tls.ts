/**
 * The certificate that this server presents, over HTTPS and RTMPS alike.
 */
import { type Certificate, CertificateError } from '#lib/certificate.ts';
import { CertificateWatch } from '#lib/certificate-watch.ts';
import type { Clock } from '#lib/clock.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import type { HttpSettings } from './config.ts';

/**
 * Loads the certificate that the settings name, and watches its files. Returns undefined when TLS is not configured.
 * A certificate that has expired or is not valid yet is used, with a warning: refusing to start would serve nobody.
 * @throws {CertificateError} with a sentence that names the settings to correct
 */
export async function openCertificate({
  settings: { tlsCert, tlsKey },
  clock,
  logger,
  metrics,
}: {
  readonly settings: Pick<HttpSettings, 'tlsCert' | 'tlsKey'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'certificateExpiry'>;
}): Promise<CertificateWatch | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    const [set, missing] = tlsCert === undefined ? ['KEY', 'CERT'] : ['CERT', 'KEY'];
    throw new CertificateError(
      `MILLRACE_TLS_${set} is set but MILLRACE_TLS_${missing} is not; set both for TLS, or neither.`,
    );
  }
  const watch = await CertificateWatch.open({ certFile: tlsCert, keyFile: tlsKey }).catch((error: unknown) => {
    if (!(error instanceof CertificateError)) throw error;
    throw new CertificateError(`${error.message} Correct MILLRACE_TLS_CERT and MILLRACE_TLS_KEY.`, { cause: error });
  });
  const warnUnlessValid = ({ validFrom, validTo }: Certificate) => {
    const now = clock.now();
    const problem = now > validTo ? 'has expired' : now < validFrom ? 'is not valid yet' : undefined;
    if (problem !== undefined) logger.warn({ certFile: tlsCert, ...periodOf(watch.current) }, `certificate ${problem}`);
  };
  warnUnlessValid(watch.current);
  watch.observe({
    renewed: (certificate) => {
      logger.info({ certFile: tlsCert, ...periodOf(certificate) }, 'certificate loaded');
      warnUnlessValid(certificate);
    },
    refused: (error) => logger.error({ err: error }, 'new certificate refused; the old one stays in use'),
  });
  metrics.certificateExpiry.observe({ file: tlsCert }, () => watch.current.validTo / 1000);
  return watch;
}

const periodOf = ({ validFrom, validTo }: Certificate) => ({
  validFrom: new Date(validFrom).toISOString(),
  validTo: new Date(validTo).toISOString(),
});
