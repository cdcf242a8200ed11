import type { ComparedRow, ComparisonEffort } from '../measure/compare.js'
import type { Effort, ResultRow } from '../measure/measure.js'
import { idleTargetBytes, readyTargetMs, type StartupFigures } from '../measure/startup.js'
import { type NamedFigures, namedSets } from '../named-sets.js'
import type { GroupFillFigures } from '../population/population.js'
import type { DatabaseName } from '../scenarios/scenario.js'
import {
  gigabytes,
  layOutTable,
  megabytes,
  percent,
  ratioCells,
  seconds,
  verdict,
  whole,
} from './format.js'
import type { Machine } from './machine.js'

/** All figures of a run of the bench. */
export interface Report {
  readonly machine: Machine
  readonly effort: Effort & ComparisonEffort
  readonly startups: readonly StartupFigures[]
  readonly rows: readonly ResultRow[]
  /** Comparison of this build with another one. */
  readonly compared: readonly ComparedRow[]
  readonly groupFills: readonly GroupFill[]
  readonly named: NamedFigures
  /** Skipped parts, with reasons. */
  readonly notes: readonly string[]
}

/** Duration of filling the large group. */
export interface GroupFill extends GroupFillFigures {
  readonly database: DatabaseName
}

/** Returns the report as tables. */
export function formatReport(report: Report): string {
  const { machine, effort, startups, rows, compared, groupFills, named, notes } = report
  const { cpu, cores, memoryBytes, system, node, postgres } = machine
  return [
    `${cpu}, ${cores} cores, ${gigabytes(memoryBytes)} GB, ${system}, Node ${node}, PostgreSQL ${postgres ?? 'not found'}`,
    compared.length > 0
      ? `${effort.starts} starts of both builds, ${effort.seconds} s each in short turns, after a warm-up`
      : `${effort.rounds} rounds of ${effort.seconds} s each for the bare echo and for the server, in turns, after a warm-up`,
    '',
    startups.length > 0 ? `${layOutTable(startupHeads, startups.map(startupCells))}\n` : '',
    rows.length > 0 ? layOutTable(rowHeads, rows.map(rowCells)) : '',
    comparisonTable(startups, compared),
    ...[...rows, ...compared].flatMap(({ database, scenario, errorSamples }) =>
      errorSamples.map((sample) => `${database} ${scenario}: ${sample}`),
    ),
    ...groupFills.map(groupFillLine),
    ...namedSets.map(({ name, report: tables }) => tables(named[name] ?? [])),
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

const comparisonHeads = [
  'database',
  'row',
  'this',
  'other',
  'this/other',
  'lowest',
  'highest',
  'CPU',
  'lowest',
  'highest',
  'p99 ms',
  'other p99',
  'errors',
]

/** Empty without another build. */
function comparisonTable(
  startups: readonly StartupFigures[],
  compared: readonly ComparedRow[],
): string {
  const cells = [...compared.map(buildCells), ...startups.flatMap(comparedStartup)]
  return cells.length > 0 ? `\n${layOutTable(comparisonHeads, cells)}` : ''
}

function buildCells({ database, scenario, ratio, cpuRatio, ...row }: ComparedRow): string[] {
  return [
    database,
    scenario,
    whole(row.perSecond),
    whole(row.otherPerSecond),
    ...ratioCells(ratio),
    ...ratioCells(cpuRatio),
    row.p99Ms.toFixed(1),
    row.otherP99Ms.toFixed(1),
    String(row.errors),
  ]
}

/** Figures of which more is worse. */
function comparedStartup({ database, readyMs, idleRssBytes, against }: StartupFigures) {
  if (!against) return []
  const ready = [whole(readyMs), whole(against.readyMs), ...ratioCells(against.readyRatio)]
  const idle = [idleRssBytes, against.idleRssBytes].map(megabytes)
  const none = Array.from({ length: 6 }, () => '-')
  return [
    [database, 'ready ms', ...ready, ...none],
    [database, 'idle MB', ...idle, ...ratioCells(against.idleRatio), ...none],
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

function rowCells(row: ResultRow): string[] {
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

function targetText(target: ResultRow['target']): string {
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

function rowVerdict({ target, missed, ofOther }: ResultRow): string {
  if (!target) return ''
  return ofOther === null
    ? verdict(missed)
    : `${verdict(missed)} (${percent(ofOther)} of ${target.ofOther?.name})`
}
