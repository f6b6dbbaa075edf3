/**
 * Shows whether the service is set up well, by checks of the server and checks in the browser.
 */
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { eventState } from '../../shared/events.ts';
import { clockDifferenceMs } from '../../shared/server-clock.ts';
import type { DoctorReport, Ingest } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { CopyButton } from '../../shared/ui/copy.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Badge, Card } from '../../shared/ui/parts.tsx';
import { checksOf, serverChecks } from './checks.ts';

const WORDS = { ok: 'Good', warn: 'Look at it', bad: 'Wrong', plain: 'Not known' } as const;

/** The card with the checks. */
export function Doctor() {
  const seen = useData('doctor', async (signal) => {
    const askedAt = performance.now();
    const ingest = await get<readonly Ingest[]>('/ingest', { signal });
    const answerMs = performance.now() - askedAt;
    return { ingest, answerMs, report: await get<DoctorReport>('/admin/doctor', { signal }) };
  });
  const { value } = seen;
  const checks = value && [
    ...serverChecks(value.report.checks),
    ...checksOf({
      origin: location.origin,
      serverOrigin: value.ingest[0]?.base ?? location.origin,
      isSecure: location.protocol === 'https:',
      events: eventState.value,
      aheadMs: clockDifferenceMs(),
      answerMs: value.answerMs,
      ingest: value.ingest.map(({ ingest }) => ingest),
    }),
  ];
  const report = () => {
    const versions = Object.entries(value?.report.versions ?? {}).map((version) => version.join(' '));
    return [
      versions.join(', '),
      ...(checks ?? []).map(({ name, tone, text }) => `${WORDS[tone]}: ${name}: ${text}`),
    ].join('\n');
  };
  return (
    <Card
      title="Doctor"
      flush
      actions={
        <>
          <Button small icon="rotate" onPress={seen.reload}>
            Check again
          </Button>
          <CopyButton text={report} what="the report" words="Copy report" />
        </>
      }
    >
      {(checks === undefined || seen.error !== undefined) && <Waiting data={seen} />}
      {checks && (
        <ul class="checks-list">
          {checks.map(({ name, tone, text }) => (
            <li key={name}>
              <Badge tone={tone}>{WORDS[tone]}</Badge>
              <div>
                <strong>{name}</strong>
                <p class="soft">{text}</p>
              </div>
            </li>
          ))}
        </ul>
      )}
      {value && <Settings settings={value.report.settings} />}
    </Card>
  );
}

/** The settings in force, which are shown on request. */
function Settings({ settings }: { readonly settings: DoctorReport['settings'] }) {
  return (
    <details class="settings">
      <summary>Settings in force</summary>
      <dl class="mono">
        {settings.map(({ name, value, isSecret }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={value === undefined ? 'soft' : ''}>{isSecret ? 'set, and secret' : (value ?? 'not set')}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
