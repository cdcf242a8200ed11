import { admissionStatus, type Int64 } from '@hermod/protocol'
import { type PageRequest, type Position, readCursor, writeCursor } from '../../paging.js'
import type { GroupPage, ListTotals } from '../core/group-page.js'

const maxPage = 500
const defaultPage = 100

/** A join request or an invitation that can still be answered. */
export function isAdmissionOpen(
  { status, expiresAt }: { readonly status: number; readonly expiresAt: number },
  now: number,
): boolean {
  return status === admissionStatus.pending && expiresAt > now
}

/** How open join requests and invitations end. */
export interface Settlement {
  readonly status: 'agreed' | 'rejected'
  readonly now: number
}

/** A page as a store reads it: one entry more than is shown tells whether there is a next page. */
export interface StorePage {
  /** When the last entry of the page before was made, and its IDs, in the order of the list. */
  readonly before: Position | null
  readonly limit: number
}

/** @throws AppError invalid_parameter for an unknown cursor */
export function storePage({ cursor, limit = defaultPage }: PageRequest, ids: number): StorePage {
  return { before: readCursor(cursor, ids + 1), limit: Math.min(limit, maxPage) + 1 }
}

/** @param found what the store found for the page */
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
