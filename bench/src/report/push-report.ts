import type { PushFigures } from '../push/push.js'
import type { PushChannelRow } from '../push/push-channels.js'
import { type PushCrowdRow, type SendFigures, sendsPerSecond } from '../push/push-crowd.js'
import { missedChannelTarget, missedCrowdTargets } from '../push/push-targets.js'
import { layOutTable, megabytes, percent, verdict, whole } from './format.js'

/** Returns one line for each channel, then one for each push to all users. */
export function pushTables(all: readonly PushFigures[]): string {
  const channels = all.flatMap((each) => each.channels)
  const crowds = all.flatMap((each) => each.crowds)
  return [
    ...(channels.length > 0 ? [layOutTable(channelHeads, channels.map(channelCells))] : []),
    ...(crowds.length > 0
      ? [
          `Everybody, with ${sendsPerSecond} messages a second before and during the push:`,
          layOutTable(crowdHeads, crowds.map(crowdCells)),
        ]
      : []),
    ...crowds.flatMap(({ database, errorSamples }) =>
      errorSamples.map((sample) => `${database} push: ${sample}`),
    ),
  ].join('\n\n')
}

const channelHeads = [
  'database',
  'channel',
  'devices',
  'a request',
  'sends/s',
  'bare/s',
  'of bare',
  'server us',
  'gateway us',
  'db us',
  'bare us',
  'bound by',
  '',
]

function channelCells(row: PushChannelRow): string[] {
  const missed = missedChannelTarget(row)
  return [
    row.database,
    row.channel,
    whole(row.devices),
    row.sendsPerRequest.toFixed(1),
    whole(row.sendsPerSecond),
    whole(row.barePerSecond),
    percent(row.ofBare),
    row.serverCpuUs.toFixed(0),
    row.simulatorCpuUs.toFixed(0),
    row.database === 'sqlite' ? '-' : row.databaseCpuUs.toFixed(0),
    row.bareCpuUs.toFixed(0),
    row.boundBy ?? '-',
    missed === null ? '' : verdict(missed),
  ]
}

const crowdHeads = [
  'database',
  'devices',
  'answer ms',
  'sent/s',
  'RSS MB',
  'before p50',
  'p99',
  'worst',
  'max',
  'during p50',
  'p99',
  'worst',
  'max',
  'errors',
  '',
]

function crowdCells(row: PushCrowdRow): string[] {
  return [
    row.database,
    whole(row.devices),
    row.notifyMs.toFixed(1),
    whole(row.sentPerSecond),
    megabytes(row.peakRssBytes),
    ...sendCells(row.before),
    ...sendCells(row.during),
    String(row.errors),
    verdict(missedCrowdTargets(row)),
  ]
}

function sendCells({ p50Ms, p99Ms, worstP99Ms, maxMs }: SendFigures): string[] {
  return [p50Ms, p99Ms, worstP99Ms, maxMs].map((ms) => ms.toFixed(1))
}
