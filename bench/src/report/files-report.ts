import type { FileRow } from '../files/files.js'
import { layOutTable, megabytes, percent, verdict, whole } from './format.js'

/** Returns one line for each scenario, then the errors; empty without scenarios. */
export function filesTable(rows: readonly FileRow[]): string {
  if (rows.length === 0) return ''
  return [
    layOutTable(heads, rows.map(fileCells)),
    ...rows.flatMap(({ database, scenario, errorSamples }) =>
      errorSamples.map((sample) => `${database} ${scenario.name}: ${sample}`),
    ),
  ].join('\n')
}

const heads = [
  'database',
  'files',
  'bare/s',
  'achieved/s',
  'MB/s',
  'of bare',
  'errors',
  'p50 ms',
  'p99 ms',
  'max ms',
  'server us',
  'db us',
  'bare us',
  'load CPU',
  'RSS MB',
  'target',
  '',
]

function fileCells(row: FileRow): string[] {
  return [
    row.database,
    row.scenario.name,
    whole(row.barePerSecond),
    whole(row.perSecond),
    megabytes(row.perSecond * row.scenario.bytes),
    percent(row.ofBare),
    String(row.errors),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    row.maxMs.toFixed(1),
    whole(row.serverCpuUs),
    row.database === 'sqlite' ? '-' : whole(row.databaseCpuUs),
    whole(row.bareCpuUs),
    percent(row.loadCpuShare, 0),
    megabytes(row.rssBytes),
    percent(row.scenario.share, 0),
    verdict(row.missed),
  ]
}
