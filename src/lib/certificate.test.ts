import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import fs, { chmod, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeCertificate, writeCertificate } from '#test/support/certificate.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { type CertificateFiles, loadCertificate } from './certificate.ts';
import { CertificateWatch, CHECK_EVERY_MS } from './certificate-watch.ts';

/** A certificate's files in a folder of the test's own. */
async function filesOf(t: TestContext, certificate = makeCertificate()) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-certificate-'));
  t.after(() => rm(folder, { recursive: true }));
  const { MILLRACE_TLS_CERT: certFile, MILLRACE_TLS_KEY: keyFile } = await writeCertificate(folder, certificate);
  return { folder, certFile, keyFile };
}

/** A watch that checks the files only while the test waits for an event, so that the test may take its time to replace them. */
async function watchOf(t: TestContext, files: CertificateFiles) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const watch = await CertificateWatch.open(files);
  t.after(() => watch[Symbol.dispose]());
  const reports: string[] = [];
  watch.observe({ renewed: () => reports.push('renewed'), refused: (error) => reports.push(String(error)) });
  const untilReported = (count: number, what: string) => {
    const look = () => {
      if (reports.length >= count) return true;
      t.mock.timers.tick(CHECK_EVERY_MS);
      return false;
    };
    return waitFor(look, { what });
  };
  return { watch, reports, untilReported };
}

test('a certificate has its period of validity', async (t) => {
  const validTo = new Date('2031-02-03T04:05:06Z');
  const certificate = await loadCertificate(await filesOf(t, makeCertificate({ validTo })));
  assert.equal(certificate.validTo, validTo.getTime());
});

test('unusable files are refused with a sentence that names the file', async (t) => {
  const files = await filesOf(t);
  const { key } = makeCertificate();
  const locked = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
  }).privateKey;
  const cases: readonly (readonly [text: string, change: Partial<CertificateFiles>, expected: RegExp])[] = [
    ['', { certFile: '/nowhere/cert.pem' }, /^The certificate \/nowhere\/cert\.pem cannot be read \(ENOENT\)\.$/],
    ['', { certFile: files.keyFile }, /key\.pem holds no certificate in PEM/],
    ['', { keyFile: files.certFile }, /cert\.pem holds no private key in PEM/],
    [key, {}, /does not belong to the first certificate in .*cert\.pem\.$/],
    [locked, {}, /holds no private key in PEM without a passphrase/],
    ['not PEM', {}, /holds no private key in PEM/],
  ];
  for (const [text, change, expected] of cases) {
    const other = join(files.folder, 'other.pem');
    await writeFile(other, text);
    const tried = { ...files, ...(text !== '' && { keyFile: other }), ...change };
    await assert.rejects(loadCertificate(tried), (error: Error) => {
      assert.equal(error.name, 'CertificateError');
      assert.match(error.message, expected);
      return true;
    });
  }
});

test('a new pair is loaded when both files are there, however they were replaced', async (t) => {
  const files = await filesOf(t);
  const { watch, reports, untilReported } = await watchOf(t, files);
  const next = makeCertificate();
  await writeCertificate(files.folder, next);
  await untilReported(1, 'the new pair');
  assert.equal(watch.current.options.cert, next.cert);

  // As certbot does: links that are switched to other targets.
  const linked = await filesOf(t);
  for (const name of ['cert.pem', 'key.pem']) {
    await symlink(join(linked.folder, name), join(files.folder, `new-${name}`));
    await rename(join(files.folder, `new-${name}`), join(files.folder, name));
  }
  await untilReported(2, 'the linked pair');
  assert.deepEqual(reports, ['renewed', 'renewed']);
  assert.notEqual(watch.current.options.cert, next.cert);
});

test('a pair whose files are replaced one check apart is loaded as a pair', async (t) => {
  const files = await filesOf(t);
  const { watch, reports, untilReported } = await watchOf(t, files);
  const next = makeCertificate();
  await writeFile(files.certFile, next.cert);
  t.mock.timers.tick(CHECK_EVERY_MS);
  // Time for that check, and for a wrong refusal.
  for (let turn = 0; turn < 100; turn += 1) await stat(files.certFile);
  await writeFile(files.keyFile, next.key);
  await untilReported(1, 'the new pair');
  assert.deepEqual(reports, ['renewed']);
  assert.equal(watch.current.options.cert, next.cert);
});

test('a broken pair is reported once and changes nothing, and a good one after it is loaded', async (t) => {
  const files = await filesOf(t);
  const { watch, reports, untilReported } = await watchOf(t, files);
  const before = watch.current;
  await writeFile(files.keyFile, makeCertificate().key);
  await untilReported(1, 'the refusal');
  await rm(files.keyFile);
  await untilReported(2, 'the second refusal');
  assert.match(reports[0]!, /does not belong/);
  assert.match(reports[1]!, /ENOENT/);
  assert.equal(watch.current, before);
  await writeCertificate(files.folder, makeCertificate());
  await untilReported(3, 'the good pair');
  assert.deepEqual(reports.slice(2), ['renewed']);
});

test('a pair whose rights were changed is loaded again', async (t) => {
  const files = await filesOf(t);
  const { reports, untilReported } = await watchOf(t, files);
  await chmod(files.keyFile, 0o400);
  await untilReported(1, 'the pair with other rights');
  assert.deepEqual(reports, ['renewed']);
});

test('a pair that could not be read is reported once, and loaded when it can be read, without a change of its files', async (t) => {
  const files = await filesOf(t);
  const { watch, reports, untilReported } = await watchOf(t, files);
  const next = makeCertificate();
  await writeCertificate(files.folder, next);
  let attempts = 0;
  const reading = t.mock.method(fs, 'readFile', () => {
    attempts += 1;
    return Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' }));
  });
  syncBuiltinESMExports();
  t.after(() => {
    reading.mock.restore();
    syncBuiltinESMExports();
  });
  await untilReported(1, 'the refusal');
  const untilRetried = (condition: () => boolean, what: string) => {
    const look = () => {
      if (condition()) return true;
      t.mock.timers.tick(30 * CHECK_EVERY_MS);
      return false;
    };
    return waitFor(look, { what });
  };
  await untilRetried(() => attempts >= 6, 'two more attempts with two files each');
  reading.mock.restore();
  syncBuiltinESMExports();
  await untilRetried(() => reports.length >= 2, 'the new pair');
  assert.match(reports[0]!, /EMFILE/);
  assert.deepEqual(reports.slice(1), ['renewed']);
  assert.equal(watch.current.options.cert, next.cert);
});
