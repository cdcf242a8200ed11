import { AppError, type Int64 } from '@hermod/protocol'
import { jsonTextBytes } from '../lib/json.js'

/** Page parameters of a caller. */
export interface PageRequest {
  /** Cursor of the previous page; undefined or '': from the start */
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

const operatorPage = { entries: 50, max: 200 }

/** @returns the maximum length of a page of an operator's list */
export function operatorPageLimit({ limit = operatorPage.entries }: PageRequest): number {
  return Math.min(limit, operatorPage.max)
}

/** Sort key of a page's last entry, as whole numbers. */
export type Position = readonly number[]

/**
 * Maximum size of a page of long entries, which bounds the memory of an answer. A page always holds
 * at least one entry.
 */
export const maxPageBytes = 1_048_576
/** Size of a UTF-16 unit in JSON: at most \u and four digits. */
const maxBytesOfUnit = 6
/** Length below which texts need no exact count, since nearly no page comes near the bound. */
const shortText = 170

/** @returns approximate number of bytes of texts as JSON */
export function textsBytes(texts: readonly string[]): number {
  let bytes = 0
  for (const text of texts)
    bytes += text.length > shortText ? jsonTextBytes(text) : text.length * maxBytesOfUnit
  return bytes
}

/**
 * @param units length of the texts in UTF-16 units
 * @returns whether a page holds any texts of this length
 */
export function fitInPage(units: number): boolean {
  return units * maxBytesOfUnit <= maxPageBytes
}

/**
 * Determines the end of a page of long entries.
 * @param textsOf the long texts of an entry
 * @returns number of leading entries on the page; at least 1
 */
export function countInPage<Entry>(
  entries: readonly Entry[],
  textsOf: (entry: Entry) => readonly string[],
): number {
  let bytes = 0
  const end = entries.findIndex((entry) => {
    bytes += textsBytes(textsOf(entry))
    return bytes > maxPageBytes
  })
  return Math.max(1, end < 0 ? entries.length : end)
}

/**
 * Matches every ID and instant of this service, and no number that cannot be represented exactly.
 */
const exactNumber = /^(?:\d{1,15}|[1-8]\d{15})$/

/** Tests whether a part of a cursor is a whole number. */
export function isNumberPart(part: string): boolean {
  return exactNumber.test(part)
}

/** Returns the cursor of the page after a position; opaque to callers. A text contains no "-". */
export function writeCursor(...position: readonly (Int64 | string)[]): string {
  return position.join('-')
}

/**
 * @param forms test for the part at each place
 * @returns null for the first page
 * @throws AppError invalid_parameter for a cursor that no page of such a list has returned
 */
export function readCursorParts<const Forms extends readonly ((part: string) => boolean)[]>(
  cursor: string | undefined,
  forms: Forms,
): { readonly [Index in keyof Forms]: string } | null {
  if (cursor === undefined || cursor === '') return null
  const parts = cursor.split('-')
  if (parts.length !== forms.length || !forms.every((isPart, index) => isPart(parts[index] ?? '')))
    throw unknownCursor()
  return parts as unknown as { readonly [Index in keyof Forms]: string }
}

/**
 * Same as {@link readCursorParts}, for lists that are sorted by numbers.
 * @param length number of parts in a position of this list
 */
export function readCursor(cursor: string | undefined, length: number): Position | null {
  return (
    readCursorParts(cursor, Array<typeof isNumberPart>(length).fill(isNumberPart))?.map(Number) ??
    null
  )
}

/**
 * Same as {@link readCursor}, for lists that are sorted by one ID.
 * @returns undefined for the first page
 */
export function readIdCursor(cursor: string | undefined): number | undefined {
  return readCursor(cursor, 1)?.[0]
}

/** Returns the error for a cursor that the service did not make. */
export function unknownCursor(): AppError {
  return new AppError('invalid_parameter', 'cursor must be one that a page before has returned')
}
