/** The conditions that raise alerts: a name, and a function that returns what is wrong. */
import type { alertKinds, Int64 } from '@hermod/protocol'
import { dayMs, hourMs } from '../../lib/clock.js'
import { counted } from '../../lib/counted.js'
import { type BackupState, failedBackup, lateBackup } from '../backup/backup-state.js'

/** A kind of alert. */
export type AlertKind = (typeof alertKinds)[number]

/** Looks whether a condition holds. @returns null when it does not, else a sentence */
export type FindAlert = (now: number) => Promise<string | null>

/** The state that the conditions read. */
export interface AlertSources {
  /** null: there are no backups to watch. */
  backup(): Promise<BackupState | null>
  /** Lists the disks of the files of all live nodes, in bytes. */
  disks(): Promise<
    readonly {
      /** null: that of the only node */
      readonly node: string | null
      readonly free: number
      readonly floor: number
    }[]
  >
  /** Lists push certificates with an expiry, the earliest first. */
  certificates(): Promise<
    readonly { readonly appId: string; readonly name: string; readonly expiresAt: number }[]
  >
  /** Lists endpoints of webhooks that the service has disabled. */
  disabledEndpoints(): Promise<readonly { readonly appId: string; readonly endpointId: Int64 }[]>
  nodes(): Promise<
    readonly {
      readonly nodeId: string
      readonly host: string
      readonly state: string
      readonly heartbeatAgeMs: number
    }[]
  >
  /** Counts the applications whose history was lost, until an operator acknowledges it. */
  lostHistories(): Promise<number>
  /** Returns what the last `hermod check` found; '' = nothing. */
  integrityFinding(): Promise<string>
}

const certificateMs = 14 * dayMs
const unverifiedMs = 8 * dayMs
/** A node that died longer ago is no news. */
const deadNodeMs = hourMs
const shown = 5

/** Returns the conditions of all kinds. */
export function alertConditions(sources: AlertSources): Readonly<Record<AlertKind, FindAlert>> {
  return {
    async backup_failed() {
      const state = await sources.backup()
      return state && failedBackup(state)
    },
    async backup_late(now) {
      const state = await sources.backup()
      return state && lateBackup(state, now)
    },
    async backup_unverified(now) {
      const state = await sources.backup()
      if (!state || state.newestAt === null) return null
      const { verifiedAt, since } = state
      if (now - (verifiedAt ?? since) <= unverifiedMs) return null
      return `no backup was verified ${verifiedAt === null ? 'yet' : `since ${timeText(verifiedAt)}`}; run hermod backup verify`
    },
    async disk_low() {
      const found = await sources.disks()
      const low = found.filter(({ free, floor }) => free < floor)
      return listText('uploads are refused', low, ({ node, free, floor }) => {
        const disk = node === null ? 'the disk' : `the disk of node ${node}`
        return `${disk} has ${megabytes(free)} MB free, below its floor of ${megabytes(floor)} MB`
      })
    },
    async certificate_expiring(now) {
      const found = await sources.certificates()
      const soon = found.filter(({ expiresAt }) => expiresAt - now <= certificateMs)
      return listText('push certificates expire or have expired', soon, (each) => {
        return `${each.name} of ${each.appId} at ${timeText(each.expiresAt)}`
      })
    },
    async endpoint_disabled() {
      const found = await sources.disabledEndpoints()
      return listText('webhooks are disabled after failures', found, (each) => {
        return `endpoint ${each.endpointId} of ${each.appId}`
      })
    },
    async node_dead() {
      const found = await sources.nodes()
      const dead = found.filter(
        ({ state, heartbeatAgeMs }) => state === 'dead' && heartbeatAgeMs <= deadNodeMs,
      )
      return listText(
        'nodes give no sign of life',
        dead,
        ({ nodeId, host }) => `${nodeId} (${host})`,
      )
    },
    async lost_history() {
      const apps = await sources.lostHistories()
      if (apps === 0) return null
      return `the database has lost history of ${counted(apps, 'application')}; inform the users, and run hermod check --acknowledge`
    },
    async integrity_fault() {
      return (await sources.integrityFinding()) || null
    },
  }
}

/** @returns null for an empty list */
function listText<T>(
  what: string,
  entries: readonly T[],
  describe: (entry: T) => string,
): string | null {
  if (entries.length === 0) return null
  const named = entries.slice(0, shown).map(describe).join(', ')
  const more = entries.length > shown ? `, and ${entries.length - shown} more` : ''
  return `${what}: ${named}${more}`
}

function timeText(at: number): string {
  return new Date(at).toISOString()
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000)
}
