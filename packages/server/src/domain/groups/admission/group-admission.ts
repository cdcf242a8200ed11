import { admissionStatus, type Int64 } from '@hermod/protocol'
import { type PageRequest, type Position, readCursor, writeCursor } from '../../paging.js'
import type { GroupPage, ListTotals } from '../core/group-page.js'

const maxPage = 500
const defaultPage = 100

/** Tests whether a join request or an invitation can still be answered. */
export function isAdmissionOpen(
  { status, expiresAt }: { readonly status: number; readonly expiresAt: number },
  now: number,
): boolean {
  return status === admissionStatus.pending && expiresAt > now
}

/** Answer to open join requests and invitations. */
export interface AdmissionAnswer {
  readonly status: 'agreed' | 'rejected'
  readonly now: number
}

/** A page as a store reads it: one entry more than shown tells whether a next page exists. */
export interface StorePage {
  /** Creation time and IDs of the last entry of the previous page, in the order of the list. */
  readonly before: Position | null
  readonly limit: number
}

/** @throws AppError invalid_parameter for an unknown cursor */
export function storePage({ cursor, limit = defaultPage }: PageRequest, ids: number): StorePage {
  return { before: readCursor(cursor, ids + 1), limit: Math.min(limit, maxPage) + 1 }
}

/** @param found entries that the store found for the page */
export function admissionPage<Entry>(
  found: readonly Entry[],
  { limit }: StorePage,
  totals: ListTotals,
  positionOf: (entry: Entry) => readonly Int64[],
): GroupPage<Entry> {
  const entries = found.slice(0, limit - 1)
  const last = entries.at(-1)
  return {
    ...totals,
    entries,
    nextCursor:
      found.length === limit && last !== undefined ? writeCursor(...positionOf(last)) : null,
  }
}
