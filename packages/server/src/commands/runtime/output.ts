/** The output of the commands: tables for people, one line of JSON for scripts. */
import type { Writable } from 'node:stream'

/** A row of a table for people; its keys are the names of the columns. */
export type OutputRow = Readonly<Record<string, unknown>>

/** Prints results of commands: one line of JSON for scripts, text for people. */
export class Printer {
  constructor(
    private readonly out: Writable,
    private readonly json: boolean,
  ) {}

  /** Scripts get the value, people the text. */
  print(value: unknown, text: () => string): void {
    this.out.write(`${this.json ? JSON.stringify(value) : printable(text())}\n`)
  }
}

/**
 * Returns a text with the control characters of JSON in place of those that a terminal obeys: names
 * of users and files of strangers may have any.
 */
export function printable(text: string): string {
  return text.replace(
    /[^\P{Cc}\n\t]/gu,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Rows under their column names, aligned; the columns are those of the first row. */
export function formatTable(rows: readonly object[], nothing: string): string {
  const [first] = rows
  if (first === undefined) return nothing
  const columns = Object.keys(first)
  return align([
    columns,
    ...(rows as readonly OutputRow[]).map((row) =>
      columns.map((column) => formatCell(column, row[column])),
    ),
  ])
}

/** The members of one record, one a line. */
export function record(row: OutputRow): string {
  return align(Object.entries(row).map(([name, value]) => [name, formatCell(name, value)]))
}

/** Times are milliseconds on the wire and ISO 8601 here; 0 is a time that never comes. */
export function formatCell(name: string, value: unknown): string {
  if (/_(at|until)$/.test(name) && typeof value === 'number')
    return value === 0 ? '-' : new Date(value).toISOString()
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : printable(String(value))
}

function align(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  )
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
