import { hourMs } from '../../lib/clock.js'
import { counted } from '../../lib/counted.js'

/** The backups of the schedule. Times are milliseconds since 1970. */
export interface BackupState {
  /** The interval of the schedule in milliseconds; null: there is no schedule. */
  readonly everyMs: number | null
  /** The beginning of the schedule. */
  readonly since: number
  /** The beginning of the newest complete backup; null: there is none. */
  readonly newestAt: number | null
  /** The newest complete backup is encrypted. */
  readonly isEncrypted: boolean
  /** The last verification of a backup; null: there was none. */
  readonly verifiedAt: number | null
  /** The failure of the last backup; null: it did not fail. */
  readonly failure: { readonly at: number; readonly reason: string } | null
}

/** A schedule may miss one backup. */
const lateIntervals = 2

/** Returns a sentence about the failure of the last backup; null: it did not fail. */
export function failedBackup({ failure }: BackupState): string | null {
  return failure && `the backup of ${timeText(failure.at)} failed: ${failure.reason}`
}

/** Returns a sentence about a backup that is late; null: none is. */
export function lateBackup({ everyMs, newestAt, since }: BackupState, now: number): string | null {
  if (everyMs === null || now - (newestAt ?? since) <= lateIntervals * everyMs) return null
  const newest = newestAt === null ? 'missing' : `of ${timeText(newestAt)}`
  return `the newest backup is ${newest}, and one is due every ${hoursText(everyMs)}`
}

function timeText(at: number): string {
  return new Date(at).toISOString()
}

function hoursText(ms: number): string {
  return counted(Math.round((ms / hourMs) * 10) / 10, 'hour')
}
