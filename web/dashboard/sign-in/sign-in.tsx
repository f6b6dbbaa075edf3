/**
 * Signing in: with a link that the server printed, or with an API key.
 */
import { useEffect, useState } from 'preact/hooks';
import { ROOT } from '../../shared/place.ts';
import { go } from '../../shared/router.ts';
import { signedOutBecause, signIn } from '../../shared/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { FormFailure, TextField, useForm } from '../../shared/ui/form.tsx';
import { Message } from '../../shared/ui/parts.tsx';
import { Mark } from '../frame/mark.tsx';

const LINK_PATH = '/dashboard/sign-in';

/** The page for signing in. */
export function SignIn() {
  const [link, setLink] = useState(linkInAddress);
  const [key, setKey] = useState('');
  useEffect(() => {
    document.title = 'Sign in · Millrace';
    const take = () => {
      if (location.hash === '') return;
      setLink(linkInAddress());
      // The secret must not stay in the address, because browsers keep addresses in their history.
      history.replaceState(null, '', location.pathname);
    };
    take();
    // Another link in the same tab changes nothing but the fragment, so the browser does not load the page.
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  const withKey = useForm(() => enter({ key: key.trim() }));
  return (
    <main class="sign-in" id="content">
      <div class="panel">
        <Mark />
        <h1>Sign in to Millrace</h1>
        {signedOutBecause.value !== undefined && <Message tone="info">{signedOutBecause.value}</Message>}
        {link === '' ? (
          <form onSubmit={withKey.submit}>
            <TextField
              label="API key"
              type="password"
              value={key}
              onValue={setKey}
              required
              autoFocus
              hint="You may do here what the key allows, and are signed out when it is revoked."
            />
            <FormFailure form={withKey} />
            <Button kind="primary" type="submit" busy={withKey.isBusy}>
              Sign in
            </Button>
            <p class="hint">
              No key at hand? Run <code>npx millrace sign-in</code> on the server: it prints a link that signs you in.
            </p>
          </form>
        ) : (
          <WithLink key={link} link={link} onKey={() => setLink('')} />
        )}
        {location.protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(location.hostname) && (
          <Message tone="warn" title="This connection is not encrypted">
            Others in the same network can read what you send, keys included. Use it where you trust the network, or set
            up TLS.
          </Message>
        )}
      </div>
      <nav class="elsewhere" aria-label="Elsewhere on this server">
        <a href={`${ROOT.pathname}play`}>Watch a stream</a>
        <a href={`${ROOT.pathname}docs`}>Documentation</a>
      </nav>
    </main>
  );
}

function WithLink({ link, onKey }: { readonly link: string; readonly onKey: () => void }) {
  const form = useForm(() => enter({ link }));
  return (
    <form onSubmit={form.submit}>
      <p>You opened a sign-in link. It works once, so sign in with the browser that you want to use.</p>
      <FormFailure form={form} />
      <Button kind="primary" type="submit" busy={form.isBusy}>
        Sign in with this link
      </Button>
      <Button kind="quiet" onPress={onKey}>
        Use an API key instead
      </Button>
    </form>
  );
}

const isLinkPage = (): boolean => location.pathname.endsWith(LINK_PATH);

/** The secret of the sign-in link that was opened; empty when none was. */
const linkInAddress = (): string => (isLinkPage() ? location.hash.slice(1) : '');

async function enter(credentials: { readonly link: string } | { readonly key: string }): Promise<void> {
  await signIn(credentials);
  if (isLinkPage()) go('/', 'replace');
}
