import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DestinationGuard, DestinationRefused, isPublicAddress } from './destination-guard.ts';

const guard = new DestinationGuard({ allowPrivate: false, resolve: async () => ['93.184.216.34'] });

describe('an address', () => {
  const PRIVATE = {
    loopback: ['127.0.0.1', '127.255.255.254', '::1'],
    'this host': ['0.0.0.0', '0.1.2.3', '::'],
    'private network': ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12::1'],
    'link-local, where clouds serve credentials': ['169.254.169.254', 'fe80::1', 'fe80::1%eth0'],
    'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
    multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
    'broadcast and reserved': ['255.255.255.255', '240.0.0.1', '198.18.0.1', '192.0.2.1', '203.0.113.9', '2001:db8::1'],
    'an IPv4 address inside IPv6': ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::127.0.0.1', '::ffff:0:127.0.0.1'],
    'translation (NAT64)': ['64:ff9b::7f00:1', '64:ff9b:1::7f00:1', '64:ff9b::808:808'],
    'tunnel (6to4, Teredo)': ['2002:7f00:1::', '2001::7f00:1'],
    'site-local and unassigned': ['fec0::1', '4000::1', '100::1'],
    'no address': ['', 'localhost', '1.2.3', '1.2.3.4.5', '999.1.1.1'],
  };
  for (const [what, addresses] of Object.entries(PRIVATE)) {
    it(`that is ${what} is not public`, () => {
      for (const address of addresses) assert.equal(isPublicAddress(address), false, address);
    });
  }

  it('of the internet is public', () => {
    for (const address of ['8.8.8.8', '93.184.216.34', '2606:4700::1111', '::ffff:8.8.8.8']) {
      assert.equal(isPublicAddress(address), true, address);
    }
  });
});

describe('a URL', () => {
  const SPELLINGS = {
    'in decimal': 'http://2130706433/',
    'in octal': 'http://0177.0.0.1/',
    'in hexadecimal': 'http://0x7f.0.0.1/',
    'in one hexadecimal number': 'http://0x7f000001/',
    'in short': 'http://127.1/',
    'with a dot at its end': 'http://127.0.0.1./',
    'in full-width digits': 'http://１２７.0.0.1/',
    'with escapes': 'http://%31%32%37.0.0.1/',
    'as zero': 'http://0/',
    'in IPv6': 'http://[::1]/',
    'in long IPv6': 'http://[0:0:0:0:0:0:0:1]/',
    'mapped into IPv6': 'http://[::ffff:127.0.0.1]/',
    'mapped into IPv6 in hexadecimal': 'http://[::ffff:7f00:1]/',
    'behind a user that looks like a host': 'http://example.com@127.0.0.1/',
    'with a port': 'http://127.0.0.1:6379/',
    'with backslashes': 'http:\\\\127.0.0.1\\',
  };
  for (const [how, url] of Object.entries(SPELLINGS)) {
    it(`that names a private address ${how} is refused`, () => {
      assert.notEqual(guard.problemOf(url), undefined);
    });
  }

  it('that cannot be parsed, has another scheme, holds a password or is too long is refused', () => {
    const urls = [
      '',
      'x',
      '//x',
      'file:///etc/passwd',
      'gopher://x/',
      'ftp://x/',
      'http://a:b@x/',
      'http://a@x/',
      'http://',
    ];
    for (const url of [...urls, `http://x/${'y'.repeat(2100)}`]) assert.notEqual(guard.problemOf(url), undefined, url);
  });

  it('of a public host is accepted', () => {
    for (const url of [
      'https://example.com/',
      'http://example.com:8080/a?b=c',
      'https://8.8.8.8/',
      'HTTPS://EXAMPLE.com',
    ]) {
      assert.equal(guard.problemOf(url), undefined, url);
    }
  });
});

describe('a connection', () => {
  const check = (...answers: (readonly string[] | Error)[]) => {
    let asked = 0;
    const resolving = new DestinationGuard({
      allowPrivate: false,
      resolve: async () => {
        const answer = answers[asked++] ?? [];
        if (answer instanceof Error) throw answer;
        return answer;
      },
    });
    return { check: () => resolving.check(new URL('https://example.com/')), asked: () => asked };
  };

  it('goes to exactly the addresses that were checked, and resolves the name once', async () => {
    const { check: go, asked } = check(['93.184.216.34', '2606:4700::1111']);
    assert.deepEqual(await go(), [
      { address: '93.184.216.34', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ]);
    assert.equal(asked(), 1);
  });

  it('is refused when one of several addresses is private', async () => {
    await assert.rejects(check(['93.184.216.34', '127.0.0.1']).check, DestinationRefused);
  });

  it('is refused when the name has become a private address since the last attempt (rebinding)', async () => {
    const { check: go } = check(['93.184.216.34'], ['169.254.169.254']);
    await go();
    await assert.rejects(go, DestinationRefused);
  });

  it('is refused when the name cannot be resolved, or has no address', async () => {
    await assert.rejects(check(new Error('SERVFAIL')).check, DestinationRefused);
    await assert.rejects(check([]).check, DestinationRefused);
  });

  it('to a literal is refused although nothing has to be resolved', async () => {
    await assert.rejects(guard.check(new URL('http://127.0.0.1/')), DestinationRefused);
    await assert.rejects(guard.check(new URL('http://[::ffff:7f00:1]/')), DestinationRefused);
  });

  it('to a private address is made where the operator allows it', async () => {
    const lab = new DestinationGuard({ allowPrivate: true });
    assert.deepEqual(await lab.check(new URL('http://127.0.0.1:1/')), [{ address: '127.0.0.1', family: 4 }]);
    assert.equal(lab.problemOf('http://10.0.0.1/'), undefined);
    assert.notEqual(lab.problemOf('file:///etc/passwd'), undefined);
  });
});
