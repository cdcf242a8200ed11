import { AppError, type ErrorName, type Int64 } from '@hermod/protocol'
import { admissionStatus } from '../core/group-model.js'
import type { GroupPage, ListTotals, PageRequest } from '../core/group-page.js'

/** How a group takes applications. */
export const applyApproval = { all: 0, confirmed: 1, none: 2 } as const

const maxPage = 500
const defaultPage = 100

/** An application or an invitation that can still be answered. */
export function isOpen(
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

/** For one user, who gets the refusal as the answer. @throws AppError the first refusal */
export function requireNoRefusal(outcomes: ReadonlyMap<Int64, ErrorName | null>): void {
  for (const refusal of outcomes.values()) if (refusal !== null) throw new AppError(refusal)
}

/** Where a page ends: when its last entry was made, and its IDs, in the order of the list. */
export type Position = readonly number[]

/** A page as a store reads it: one entry more than is shown tells whether there is a next page. */
export interface StorePage {
  readonly before: Position | null
  readonly limit: number
}

/** @throws AppError invalid_parameter for a cursor that is none of ours */
export function storePage({ cursor, limit = defaultPage }: PageRequest, ids: number): StorePage {
  return { before: readCursor(cursor, ids), limit: Math.min(limit, maxPage) + 1 }
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
    nextCursor: found.length === limit && last !== undefined ? positionOf(last).join('-') : null,
  }
}

function readCursor(cursor: string | undefined, ids: number): Position | null {
  if (cursor === undefined || cursor === '') return null
  const parts = cursor.split('-')
  if (parts.length !== ids + 1 || !parts.every((part) => /^(\d{1,15}|[1-8]\d{15})$/.test(part)))
    throw new AppError('invalid_parameter', 'cursor must be one that a page before has returned')
  return parts.map(Number)
}
