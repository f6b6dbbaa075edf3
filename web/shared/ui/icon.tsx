/**
 * The icons, drawn on 24 by 24 in one stroke width. They repeat what words beside them say, so screen readers skip them.
 */

const PATHS = {
  home: 'M4 11.5 12 5l8 6.5M6 10v9h12v-9M10 19v-5h4v5',
  streams: 'M5.5 18.5a9 9 0 0 1 0-13M18.5 5.5a9 9 0 0 1 0 13M8.5 15.5a5 5 0 0 1 0-7M15.5 8.5a5 5 0 0 1 0 7M12 12h.01',
  history: 'M4 12a8 8 0 1 0 2.6-5.9M4 4v4h4M12 8v4.5l3 1.5',
  film: 'M4 5h16v14H4zM8 5v14M16 5v14M4 9.7h4M4 14.3h4M16 9.7h4M16 14.3h4',
  hook: 'M9.5 9.5a3 3 0 1 1 4.3-2.6M12 7l3.5 6.5M15.5 13.2a3.2 3.2 0 1 1-1.3 5.6M8.8 13a3.2 3.2 0 1 0 2 3.8h6',
  key: 'M14.5 9.5a4 4 0 1 0-3.3 3.9L13 15h2v2h2v2h3v-3l-5.7-5.7M7.5 8.5h.01',
  chart: 'M5 19V11M10 19V5M15 19v-6M20 19V9M3 19h18',
  admin: 'M12 4l7 3v5c0 4.2-2.9 7-7 8-4.1-1-7-3.8-7-8V7zM9 12l2.2 2.2L15 10.5',
  search: 'M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15.5 15.5 20 20',
  plus: 'M12 5v14M5 12h14',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'M5 12.5 10 17.5 19 7',
  eye: 'M3 12s3.3-6 9-6 9 6 9 6-3.3 6-9 6-9-6-9-6zM12 9.6a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8z',
  rotate: 'M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4',
  alert: 'M12 4 21 19H3zM12 10v4M12 16.8h.01',
  info: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 11v5M12 8h.01',
  close: 'M6 6l12 12M18 6 6 18',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  sun: 'M12 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4',
  moon: 'M19 14.5A7.5 7.5 0 0 1 9.5 5 7.5 7.5 0 1 0 19 14.5z',
  pause: 'M9 6v12M15 6v12',
  stop: 'M7 7h10v10H7z',
  trash: 'M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12M10.5 11v4.5M13.5 11v4.5',
  send: 'M4 12 20 4l-5 16-3.5-6.5z',
  door: 'M10 5H5v14h5M14 8l4 4-4 4M18 12H9',
  terminal: 'M5 7l4 5-4 5M12 17h7',
  arrow: 'M5 12h14M13 6l6 6-6 6',
  back: 'M19 12H5M11 6l-6 6 6 6',
  wall: 'M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z',
  edit: 'M5 19l1-4L16.5 4.5l3 3L9 18zM14.5 6.5l3 3',
  phone: 'M8 4h8v16H8zM11 17h2',
  play: 'M8 5.5v13l11-6.5z',
  download: 'M12 4v11M8 11l4 4 4-4M5 19h14',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

/** An icon. */
export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
