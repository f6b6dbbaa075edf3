/**
 * The logo of the service.
 */

/** Three waves, as in the icon. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M5 10c3.7 0 3.7 3.5 7.4 3.5S16 10 19.7 10s3.7 3.5 7.3 3.5M5 16c3.7 0 3.7 3.5 7.4 3.5S16 16 19.7 16s3.7 3.5 7.3 3.5M5 22c3.7 0 3.7 3.5 7.4 3.5S16 22 19.7 22s3.7 3.5 7.3 3.5" />
    </svg>
  );
}
