import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeCertificate, writeCertificate } from '#test/support/certificate.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { type CertificateFiles, loadCertificate } from './certificate.ts';
import { CertificateWatch } from './certificate-watch.ts';

/** Files in a folder of the test's own. */
async function filesOf(t: TestContext, certificate = makeCertificate()) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-certificate-'));
  t.after(() => rm(folder, { recursive: true }));
  const { MILLRACE_TLS_CERT: certFile, MILLRACE_TLS_KEY: keyFile } = await writeCertificate(folder, certificate);
  return { folder, certFile, keyFile };
}

/** A watch that looks often, and what it tells. */
async function watchOf(t: TestContext, files: CertificateFiles) {
  const watch = await CertificateWatch.open(files, { lookEveryMs: 5 });
  t.after(() => watch[Symbol.dispose]());
  const told: string[] = [];
  watch.observe({ renewed: () => told.push('renewed'), refused: (error) => told.push(String(error)) });
  return { watch, told };
}

test('a certificate says how long it is valid', async (t) => {
  const validTo = new Date('2031-02-03T04:05:06Z');
  const certificate = await loadCertificate(await filesOf(t, makeCertificate({ validTo })));
  assert.equal(certificate.validTo, validTo.getTime());
});

test('files that are no use are refused with a sentence that names the file', async (t) => {
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

test('a new pair is taken when both files are there, however they came', async (t) => {
  const files = await filesOf(t);
  const { watch, told } = await watchOf(t, files);
  const next = makeCertificate();
  await writeCertificate(files.folder, next);
  await waitFor(() => told.length > 0, { what: 'the new pair' });
  assert.equal(watch.current.options.cert, next.cert);

  // As certbot does: links that point somewhere else from one moment to the next.
  const linked = await filesOf(t);
  for (const name of ['cert.pem', 'key.pem']) {
    await symlink(join(linked.folder, name), join(files.folder, `new-${name}`));
    await rename(join(files.folder, `new-${name}`), join(files.folder, name));
  }
  await waitFor(() => told.length > 1, { what: 'the linked pair' });
  assert.deepEqual(told, ['renewed', 'renewed']);
  assert.notEqual(watch.current.options.cert, next.cert);
});

test('a broken pair is told once and changes nothing, and a good one after it is taken', async (t) => {
  const files = await filesOf(t);
  const { watch, told } = await watchOf(t, files);
  const before = watch.current;
  await writeFile(files.keyFile, makeCertificate().key);
  await waitFor(() => told.length > 0, { what: 'the refusal' });
  await rm(files.keyFile);
  await waitFor(() => told.length > 1, { what: 'the second refusal' });
  assert.match(told[0]!, /does not belong/);
  assert.match(told[1]!, /ENOENT/);
  assert.equal(watch.current, before);
  await writeCertificate(files.folder, makeCertificate());
  await waitFor(() => told.length > 2, { what: 'the good pair' });
  assert.deepEqual(told.slice(2), ['renewed']);
});
