/**
 * QR codes as one path of an SVG.
 */
import { encode } from 'uqr';

/** The path of the dark modules of a text's code, with the quiet border that scanners want. */
export function qrPath(text: string): { readonly d: string; readonly size: number } {
  const { data, size } = encode(text, { border: 4 });
  const d = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return { d, size };
}
