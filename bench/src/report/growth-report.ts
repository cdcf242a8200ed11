import {
  type GrowthLoad,
  type GrowthRow,
  growthLoads,
  missedGrowthTargets,
} from '../growth/growth.js'
import { layOutTable, megabytes, percent, ratioCells, verdict, whole } from './format.js'

/**
 * Returns one line for each build and step, then each load compared with the first step and with
 * the other build.
 */
export function growthTables(rows: readonly GrowthRow[]): string {
  if (rows.length === 0) return ''
  const compared = rows.flatMap(comparedCells)
  return [
    layOutTable(heads, rows.map(cells)),
    '',
    'Against the first step, as measured and (of the echo):',
    layOutTable(
      againstFirstHeads,
      rows.map((row) => againstFirst(row, rows)),
    ),
    ...(compared.length > 0 ? ['', layOutTable(comparedHeads, compared)] : []),
    ...rows.flatMap(({ database, build, errorSamples }) =>
      errorSamples.map((sample) => `${database} ${build}: ${sample}`),
    ),
  ].join('\n')
}

const heads = [
  'database',
  'build',
  'messages',
  'send/s',
  'p50 ms',
  'p99 ms',
  'max ms',
  'fill/s',
  'fill p99',
  'fill max',
  'history/s',
  'p99 ms',
  'unread/s',
  'p99 ms',
  'lists/s',
  'p99 ms',
  'data MB',
  'log MB',
  'RSS MB',
  'errors',
]

function cells(row: GrowthRow): string[] {
  const { send, ...reads } = row.loads
  const { fill } = row
  return [
    row.database,
    row.build,
    whole(row.messages),
    whole(send.perSecond),
    send.p50Ms.toFixed(1),
    send.p99Ms.toFixed(1),
    send.maxMs.toFixed(0),
    ...(fill
      ? [whole(fill.messagesPerSecond), fill.p99Ms.toFixed(1), fill.maxMs.toFixed(0)]
      : ['-', '-', '-']),
    ...Object.values(reads).flatMap(({ perSecond, p99Ms }) => [whole(perSecond), p99Ms.toFixed(1)]),
    megabytes(row.databaseBytes),
    megabytes(row.walBytes),
    megabytes(row.rssBytes),
    String(row.errors),
  ]
}

const againstFirstHeads = ['database', 'build', 'messages', ...growthLoads, '']

function againstFirst(row: GrowthRow, rows: readonly GrowthRow[]): string[] {
  const { database, build, messages, loads } = row
  const first = rows.find((each) => each.database === database && each.build === build) ?? row
  const shares = (load: GrowthLoad) => {
    const [now, then] = [loads[load], first.loads[load]]
    return `${percent(now.perSecond / then.perSecond)} (${percent(now.ofEcho / then.ofEcho)})`
  }
  return [
    database,
    build,
    whole(messages),
    ...growthLoads.map(shares),
    verdict(missedGrowthTargets(row, first)),
  ]
}

const comparedHeads = ['database', 'messages', 'load', 'this/other', 'lowest', 'highest']

function comparedCells({ database, messages, loads }: GrowthRow): string[][] {
  return growthLoads.flatMap((load) => {
    const { against } = loads[load]
    return against ? [[database, whole(messages), load, ...ratioCells(against)]] : []
  })
}
