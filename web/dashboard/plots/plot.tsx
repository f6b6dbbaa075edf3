/**
 * One plot over time, drawn by uPlot. A sentence, arrow keys and a table give the same information to readers who cannot see it.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { useData } from '../../shared/data.ts';
import { time } from '../../shared/format.ts';
import { loaded } from '../../shared/loaded.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { isDark } from '../frame/theme.ts';
import { type Columns, type Measure, plotSentence } from './series.ts';

/** A moment that is marked in all plots. */
export interface PlotMark {
  /** Milliseconds. */
  readonly at: number;
}

const HEIGHT = 150;
const MAX_TABLE_ROWS = 60;
/** One cursor for all plots of a page. */
const SYNC = 'millrace';

/** The plot. */
export function Plot({
  measure,
  columns,
  marks,
}: {
  readonly measure: Measure;
  readonly columns: Columns;
  readonly marks: readonly PlotMark[];
}) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const newest = useRef({ columns, marks });
  newest.current = { columns, marks };
  const [said, setSaid] = useState('');
  const [isTable, setTable] = useState(false);
  const at = useRef(-1);

  const uplot = useData('uplot', () => loaded(import('uplot')));
  const UPlot = uplot.value?.default;

  useEffect(() => {
    if (place.current === null || UPlot === undefined) return;
    chart.current = new UPlot(
      optionsOf(UPlot, measure, place.current.clientWidth, () => newest.current.marks),
      dataOf(newest.current.columns),
      place.current,
    );
    const watching = new ResizeObserver(([entry]) =>
      chart.current?.setSize({ width: entry!.contentRect.width, height: HEIGHT }),
    );
    watching.observe(place.current);
    return () => {
      watching.disconnect();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [measure, isTable, UPlot, isDark.value]);
  useEffect(() => chart.current?.setData(dataOf(columns)), [columns]);

  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const last = columns.times.length - 1;
    at.current = Math.min(last, Math.max(0, (at.current === -1 ? last + 1 : at.current) + step));
    const value = columns.values[at.current] ?? null;
    setSaid(`${time(columns.times[at.current]! * 1000)}: ${value === null ? 'no media' : measure.format(value)}`);
    const drawn = chart.current;
    drawn?.setCursor({ left: drawn.valToPos(columns.times[at.current]!, 'x'), top: HEIGHT / 2 });
  };
  const sentence = plotSentence(measure, columns);
  return (
    <figure class="plot">
      <figcaption>
        <strong>{measure.title}</strong>
        <Button kind="quiet" small pressed={isTable} onPress={() => setTable(!isTable)}>
          {isTable ? 'Plot' : 'Table'}
        </Button>
      </figcaption>
      {isTable ? (
        <PlotTable measure={measure} columns={columns} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move along the plot.
        <div ref={place} class="canvas" role="img" aria-label={sentence} tabIndex={0} onKeyDown={onKey} />
      )}
      {uplot.error !== undefined && <Waiting data={uplot} />}
      <p class="visually-hidden" aria-live="polite">
        {said}
      </p>
      <p class="hint">{measure.help}</p>
    </figure>
  );
}

function PlotTable({ measure, columns }: { readonly measure: Measure; readonly columns: Columns }) {
  const every = Math.max(1, Math.ceil(columns.times.length / MAX_TABLE_ROWS));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
    <section class="table-scroll plot-table" tabIndex={0} aria-label={measure.title}>
      <table>
        <thead>
          <tr>
            <th>Time</th>
            <th class="end">{measure.title}</th>
          </tr>
        </thead>
        <tbody>
          {columns.times.map((each, index) =>
            index % every === 0 ? (
              <tr key={each}>
                <td>{time(each * 1000)}</td>
                <td class="end">
                  {columns.values[index] == null ? 'no media' : measure.format(columns.values[index])}
                </td>
              </tr>
            ) : null,
          )}
        </tbody>
      </table>
    </section>
  );
}

const dataOf = ({ times, values, low, high }: Columns): uPlot.AlignedData => [
  [...times],
  [...high],
  [...low],
  [...values],
];

/** The options of a plot. Its colors are read from the page, so the plot is drawn anew when they change. */
function optionsOf(
  UPlot: typeof uPlot,
  { format, good, atLeast, range }: Measure,
  width: number,
  marks: () => readonly PlotMark[],
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => {
    // Each color is read from a new element, because an element whose color changes has the old one for a moment.
    const probe = document.createElement('span');
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const { color: shown } = getComputedStyle(probe);
    probe.remove();
    return shown;
  };
  const [ink, line, accent, okSoft, warn] = ['--ink-soft', '--line', '--accent', '--ok-soft', '--warn'].map(color) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const font = `11px ${style.fontFamily}`;
  const soft = (alpha: string) => accent.replace(/^rgb\(/, 'rgba(').replace(/\)$/, `, ${alpha})`);
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: SYNC }, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true },
      y: { range: (_plot, min, max) => [Math.min(0, min ?? 0), Math.max(atLeast, (max ?? 0) * 1.1)] },
    },
    axes: [
      {
        stroke: ink,
        font,
        grid: { show: false },
        ticks: { stroke: line, size: 4 },
        size: 26,
        space: 70,
        // Seconds are shown where two labels would be the same without them.
        values: (_plot, ticks, _axis, _space, stepS) =>
          ticks.map((each) => time(each * 1000).slice(0, stepS < 60 ? undefined : 5)),
      },
      {
        stroke: ink,
        font,
        grid: { stroke: line, width: 1 },
        ticks: { show: false },
        size: 62,
        values: (_plot, ticks) => ticks.map(format),
      },
    ],
    series: [
      {},
      { stroke: 'transparent', points: { show: false } },
      { stroke: 'transparent', points: { show: false } },
      { stroke: accent, width: 2, points: { show: false }, ...(range === undefined && { fill: soft('0.12') }) },
    ],
    bands: range === undefined ? [] : [{ series: [1, 2], fill: soft('0.2') }],
    hooks: {
      drawClear: [
        (plot) => {
          if (good === undefined) return;
          const { ctx, bbox } = plot;
          const [top, bottom] = [plot.valToPos(good[1], 'y', true), plot.valToPos(good[0], 'y', true)];
          ctx.save();
          ctx.fillStyle = okSoft;
          ctx.fillRect(
            bbox.left,
            Math.max(bbox.top, top),
            bbox.width,
            Math.min(bbox.top + bbox.height, bottom) - Math.max(bbox.top, top),
          );
          ctx.restore();
        },
      ],
      draw: [
        (plot) => {
          const { ctx, bbox } = plot;
          ctx.save();
          ctx.strokeStyle = warn;
          ctx.lineWidth = UPlot.pxRatio;
          ctx.setLineDash([4, 3]);
          for (const { at } of marks()) {
            const x = plot.valToPos(at / 1000, 'x', true);
            if (x < bbox.left || x > bbox.left + bbox.width) continue;
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
          }
          ctx.restore();
        },
      ],
    },
  };
}
