import type { BackupFigures, SendsDuringBackup } from '../backup/backup.js'
import { besideText, layOutTable, megabytes, range, verdict, whole } from './format.js'

/** Share of the rate of sends that stays during a backup, and the most by which p99 grows. */
export const backupTargets = { rate: 0.9, p99: 2 }

const ms = (value: number) => `${value.toFixed(1)} ms`

/** Returns the table of sends during backups; "" without figures. */
export function backupTable(all: readonly BackupFigures[]): string {
  return all
    .map(({ databaseBytes, messages, sends, backupSeconds, logBytes, verify, errorSamples }) =>
      [
        `Backups of ${megabytes(databaseBytes)} MB, ${messages} messages at first; during a backup and alone:`,
        layOutTable(
          ['figure', 'value', 'target'],
          [
            ...sends.flatMap(sendRows),
            ['a backup', range(backupSeconds, (value) => `${value.toFixed(1)} s`), '-'],
            ['log in use at the most', range(logBytes, (value) => `${megabytes(value)} MB`), '-'],
            [
              'verification',
              `${verify.seconds.toFixed(1)} s, ${megabytes(verify.peakBytes)} MB`,
              '-',
            ],
          ],
        ),
        ...errorSamples,
      ].join('\n'),
    )
    .join('\n\n')
}

function sendRows({ isHalf, perSecond, p50Ms, p99Ms }: SendsDuringBackup): string[][] {
  const of = isHalf ? 'at half of the rate' : 'sends'
  return [
    [
      `${of}, a second`,
      besideText(perSecond, whole),
      verdict(perSecond.ratio.median >= backupTargets.rate ? [] : ['rate']),
    ],
    [`${of}, p50`, besideText(p50Ms, ms), '-'],
    [
      `${of}, p99`,
      besideText(p99Ms, ms),
      verdict(p99Ms.ratio.median <= backupTargets.p99 ? [] : ['p99']),
    ],
  ]
}
