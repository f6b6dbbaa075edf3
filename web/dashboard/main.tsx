/**
 * Starts the dashboard: shows the sign-in page until a user is signed in, and then the frame with a page.
 */
import { render } from 'preact';
import { followLinks } from '../shared/router.ts';
import { bearer, signedIn } from '../shared/session.ts';
import { Frame } from './frame/frame.tsx';
import { applyTheme } from './frame/theme.ts';
import { SignIn } from './sign-in/sign-in.tsx';

function Dashboard() {
  const who = signedIn.value;
  if (who === undefined) return <div class="starting" role="status" aria-label="Loading" />;
  return who === null ? <SignIn /> : <Frame who={who} />;
}

applyTheme();
followLinks();
// A sign-in link is used even when a user is signed in already, because it may be for another user.
if (location.pathname.endsWith('/dashboard/sign-in')) signedIn.value = null;
else bearer().catch(() => (signedIn.value ??= null));
render(<Dashboard />, document.getElementById('app')!);
