/**
 * Starts the dashboard: the sign-in page until somebody is signed in, then the frame with a page in it.
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
// A link signs in again even when somebody is signed in, perhaps as another user.
if (location.pathname.endsWith('/dashboard/sign-in')) signedIn.value = null;
else bearer().catch(() => (signedIn.value ??= null));
render(<Dashboard />, document.getElementById('app')!);
