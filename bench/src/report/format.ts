/** Formats of figures. */
import type { Beside, Ratio } from '../measure/statistics.js'

/** Lays out columns of equal width: figures to the right, words to the left. */
export function layOutTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const isFigure = (column: number) =>
    rows.every((row) => /^[\d.]+( %)?$|^NaN|^-$/.test(row[column] ?? ''))
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const align = (cells: readonly string[]) =>
    cells.map((cell, column) =>
      isFigure(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    )
  return [heads, ...rows].map((cells) => align(cells).join('  ').trimEnd()).join('\n')
}

/** Returns a value without decimals. */
export function whole(value: number): string {
  return value.toFixed(0)
}

/** Returns a share in percent. */
export function percent(share: number, digits = 1): string {
  return `${(share * 100).toFixed(digits)} %`
}

/** Returns milliseconds in seconds. */
export function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

/** Returns bytes in MB. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0)
}

/** Returns bytes in GB. */
export function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(0)
}

/** Returns three figures in three cells. */
export function ratioCells({ median, min, max }: Ratio): string[] {
  return [median, min, max].map((ratio) => percent(ratio))
}

/** Returns the cell for missed targets. */
export function verdict(missed: readonly string[]): string {
  return missed.length === 0 ? 'met' : `MISSED: ${missed.join(', ')}`
}

/** Returns a median with its lowest and highest value. */
export function range({ median, min, max }: Ratio, text: (value: number) => string): string {
  return `${text(median)} (${text(min)} to ${text(max)})`
}

/** Returns the share of a figure beside other work in that without it, and both figures. */
export function besideText(
  { alone, beside, ratio }: Beside,
  text: (value: number) => string,
): string {
  const share = (value: number) => percent(value, 0)
  return `${range(ratio, share)}: ${text(beside.median)} and ${text(alone.median)}`
}
