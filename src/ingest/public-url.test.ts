import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publishUrls } from './public-url.ts';

const NOT_SET = { publicRtmpUrl: undefined };
const at = (scheme: string, port: number) => ({ scheme, host: '0.0.0.0', port });

test('URLs have the host by which the client reached the server, and the port unless it is the default', () => {
  const addresses = [at('rtmp', 1935), at('rtmps', 1936)];
  assert.deepEqual(publishUrls(NOT_SET, addresses, 'live.example.com'), [
    'rtmp://live.example.com/live',
    'rtmps://live.example.com:1936/live',
  ]);
  assert.deepEqual(publishUrls(NOT_SET, [at('rtmp', 19350), at('rtmps', 443)], '[2001:db8::1]'), [
    'rtmp://[2001:db8::1]:19350/live',
    'rtmps://[2001:db8::1]/live',
  ]);
});

test('URLs that the operator has set replace those at which the server listens', () => {
  const publicRtmpUrl = ['rtmps://in.example.com:443'];
  assert.deepEqual(publishUrls({ publicRtmpUrl }, [at('rtmp', 1935)], 'live.example.com'), [
    'rtmps://in.example.com:443/live',
  ]);
});
