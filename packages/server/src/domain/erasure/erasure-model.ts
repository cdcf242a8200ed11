import { createHash } from 'node:crypto'
import type { erasureModes, Int64 } from '@hermod/protocol'
import { longJobKind } from '../long-jobs/long-job-model.js'
import type { UserKey } from '../users/user-model.js'
import type { ErasureRow } from './erasure-store.js'

/** The messages of a person after an erasure. */
export type ErasureMode = (typeof erasureModes)[number]

/** An erasure as it is ordered. */
export interface ErasureOrder extends UserKey {
  readonly messages: ErasureMode
  readonly reason: string
}

/** The certificate of an erasure, as operators get it; nothing of the person but the ID. */
export type Certificate = {
  readonly app_id: string
  readonly user_id: Int64
  readonly begun_at: number
  /** 0 = unfinished */
  readonly finished_at: number
  readonly messages: ErasureMode
  readonly reason: string
  readonly counts: Readonly<Record<string, number>>
  readonly files: number
  readonly is_scrubbed: boolean
  /** '' = unfinished */
  readonly digest: string
}

/** A certificate, and the folders of backups whose list of erasures could not be written. */
export type ErasureResult = Certificate & { readonly unlisted: readonly string[] }

/** The job of an erasure. */
export const userErasure = longJobKind<ErasureOrder, ErasureResult>('user_erase', {
  maxUnfinished: 4,
})

/** A part of an erasure. It finds what is left, so a repeat after a kill is harmless. */
export interface ErasureStep {
  /** The work of the step, for the progress. */
  readonly text: string
  /** @throws when the signal is aborted */
  run(erasure: ErasureOrder, run: ErasureRun): Promise<void>
}

/** The run of an erasure as its steps see it. */
export interface ErasureRun {
  readonly signal: AbortSignal
  /** Reports rows that were erased. */
  erased(rows: number): void
}

/** Returns the certificate of an erasure. */
export function certificateOf(row: ErasureRow): Certificate {
  return {
    app_id: row.appId,
    user_id: row.userId,
    begun_at: row.begunAt,
    finished_at: row.finishedAt ?? 0,
    messages: row.messages as ErasureMode,
    reason: row.reason,
    counts: JSON.parse(row.counts) as Record<string, number>,
    files: row.files,
    is_scrubbed: row.isScrubbed === 1,
    digest: row.digest,
  }
}

/** Returns the digest of a certificate: SHA-256 of its other members, with sorted names. */
export function digestOf({ digest: _, ...certificate }: Certificate): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(certificate)))
    .digest('hex')
}

function sorted(value: object): object {
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, typeof each === 'object' && each ? sorted(each) : each]),
  )
}
