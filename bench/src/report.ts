import type { GroupFillFigures } from './group-fill.js'
import type { Machine } from './machine.js'
import type { Effort, Row } from './measure.js'
import type { DatabaseName } from './scenario.js'
import { idleTargetBytes, readyTargetMs, type StartupFigures } from './subjects.js'

export interface Report {
  readonly machine: Machine
  readonly effort: Effort
  readonly startups: readonly StartupFigures[]
  readonly rows: readonly Row[]
  readonly groupFills: readonly GroupFill[]
  /** What was left out, and why. */
  readonly notes: readonly string[]
}

/** How long the large group took. */
export interface GroupFill extends GroupFillFigures {
  readonly database: DatabaseName
}

export function formatReport({
  machine,
  effort,
  startups,
  rows,
  groupFills,
  notes,
}: Report): string {
  const { cpu, cores, memoryBytes, system, node, postgres } = machine
  return [
    `${cpu}, ${cores} cores, ${gigabytes(memoryBytes)} GB, ${system}, Node ${node}, PostgreSQL ${postgres ?? 'not found'}`,
    `${effort.rounds} rounds of ${effort.seconds} s each for the bare echo and for the server, in turns, after a warm-up`,
    '',
    startups.length > 0 ? `${table(startupHeads, startups.map(startupCells))}\n` : '',
    rows.length > 0 ? table(rowHeads, rows.map(rowCells)) : '',
    ...rows.flatMap(({ database, scenario, errorSamples }) =>
      errorSamples.map((sample) => `${database} ${scenario}: ${sample}`),
    ),
    ...groupFills.map(groupFillLine),
    ...notes.map((note) => `Note: ${note}`),
  ]
    .filter((part, index, parts) => part !== '' || parts[index - 1] !== '')
    .join('\n')
}

const startupHeads = ['database', 'ready ms', 'slowest', 'idle MB', 'target', '']

function startupCells({
  database,
  readyMs,
  slowestReadyMs,
  idleRssBytes,
  missed,
}: StartupFigures): string[] {
  const target = `${readyTargetMs} ms, ${megabytes(idleTargetBytes)} MB`
  return [
    database,
    whole(readyMs),
    whole(slowestReadyMs),
    megabytes(idleRssBytes),
    target,
    verdict(missed),
  ]
}

function groupFillLine({ database, imported, importMs, joined, joinMs }: GroupFill): string {
  return `${database}: ${imported} users imported in ${seconds(importMs)} s, ${joined} of them added to a group in ${seconds(joinMs)} s`
}

const rowHeads = [
  'database',
  'scenario',
  'echo/s',
  'offered/s',
  'achieved/s',
  'of echo',
  'errors',
  'p50 ms',
  'p99 ms',
  'max ms',
  'server us',
  'db us',
  'load CPU',
  'RSS MB',
  'target (aim)',
  '',
]

function rowCells(row: Row): string[] {
  return [
    row.database,
    row.scenario,
    whole(row.echoPerSecond),
    whole(row.offeredPerSecond),
    whole(row.achievedPerSecond),
    percent(row.share),
    String(row.errors),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    row.maxMs.toFixed(1),
    whole(row.serverCpuUs),
    row.database === 'sqlite' ? '-' : whole(row.databaseCpuUs),
    percent(row.loadCpuShare, 0),
    megabytes(row.rssBytes),
    targetText(row.target),
    rowVerdict(row),
  ]
}

function targetText(target: Row['target']): string {
  if (!target) return '-'
  const { share, aim, ofOther, p99Ms, maxMs } = target
  return [
    ...(share === undefined
      ? []
      : [`${percent(share, 0)}${aim === undefined ? '' : ` (${percent(aim, 0)})`}`]),
    ...(ofOther === undefined ? [] : [`${percent(ofOther.share, 0)} of ${ofOther.name}`]),
    ...(p99Ms === undefined ? [] : [`p99 ${p99Ms} ms`]),
    ...(maxMs === undefined ? [] : [`max ${maxMs} ms`]),
  ].join(', ')
}

function rowVerdict({ target, missed, ofOther }: Row): string {
  if (!target) return ''
  return ofOther === null
    ? verdict(missed)
    : `${verdict(missed)} (${percent(ofOther)} of ${target.ofOther?.name})`
}

function verdict(missed: readonly string[]): string {
  return missed.length === 0 ? 'met' : `MISSED: ${missed.join(', ')}`
}

/** Columns of one width each: figures to the right, words to the left. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
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

function whole(value: number): string {
  return value.toFixed(0)
}

function percent(share: number, digits = 1): string {
  return `${(share * 100).toFixed(digits)} %`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0)
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(0)
}
