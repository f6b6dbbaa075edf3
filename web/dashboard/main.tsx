/**
 * Starts the dashboard: shows the sign-in page until a user is signed in, and then the frame with a page.
 */
import { signal } from '@preact/signals';
import { render } from 'preact';
import { followLinks } from '../shared/router.ts';
import { bearer, signedIn } from '../shared/session.ts';
import { Failure } from '../shared/ui/parts.tsx';
import { Frame } from './frame/frame.tsx';
import { applyTheme } from './frame/theme.ts';
import { SignIn } from './sign-in/sign-in.tsx';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Why it is not known yet who is signed in. */
const failure = signal<unknown>(undefined);

function Dashboard() {
  const who = signedIn.value;
  if (who === undefined) {
    return (
      <div class="starting" role="status" aria-label="Loading">
        {failure.value !== undefined && <Failure error={failure.value} />}
      </div>
    );
  }
  return who === null ? <SignIn /> : <Frame who={who} />;
}

/** Asks who is signed in until the server answers. An error of a server that restarts, or has no database, does not mean that nobody is. */
async function askWho(): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; signedIn.value === undefined; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      await bearer();
    } catch (error) {
      failure.value = error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

applyTheme();
followLinks();
// A sign-in link is used even when a user is signed in already, because it may be for another user.
if (location.pathname.endsWith('/dashboard/sign-in')) signedIn.value = null;
else void askWho();
render(<Dashboard />, document.getElementById('app')!);
