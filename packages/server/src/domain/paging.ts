import { AppError, type Int64 } from '@hermod/protocol'

/** What a caller asks of a list that is given in pages. */
export interface PageRequest {
  /** Of the page before; undefined or '' = from the start */
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

const operatorPage = { entries: 50, max: 200 }

/** @returns how many entries a page of an operator's list has at most */
export function operatorPageLimit({ limit = operatorPage.entries }: PageRequest): number {
  return Math.min(limit, operatorPage.max)
}

/** Where a page ends: what its last entry is sorted by, as whole numbers. */
export type Position = readonly number[]

/** What a page of long entries holds at most, so that no answer takes much of the memory; one entry is always a page. */
export const maxPageBytes = 1_048_576
/** A UTF-16 unit as JSON has it: \u and four digits at most. */
const maxBytesOfUnit = 6
/** Nearly no page comes near the bound, so that short texts need no exact count. */
const shortText = 170

/** @returns how many bytes some texts take as JSON, more or less */
export function textsBytes(texts: readonly string[]): number {
  let bytes = 0
  for (const text of texts)
    bytes +=
      text.length > shortText
        ? Buffer.byteLength(JSON.stringify(text))
        : text.length * maxBytesOfUnit
  return bytes
}

/** @param units how long texts are, in UTF-16 units. @returns whether a page holds them whatever they are */
export function fitInPage(units: number): boolean {
  return units * maxBytesOfUnit <= maxPageBytes
}

/**
 * Where a page of long entries ends.
 * @param textsOf the long texts of an entry
 * @returns how many of the first entries make a page; at least 1
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

/** Every ID and instant of this service, and nothing that a number cannot represent exactly. */
const exactNumber = /^(?:\d{1,15}|[1-8]\d{15})$/

/** Whether a part of a cursor is a whole number. */
export function isNumberPart(part: string): boolean {
  return exactNumber.test(part)
}

/** The cursor of the page after a position; opaque to callers. A text has no "-". */
export function writeCursor(...position: readonly (Int64 | string)[]): string {
  return position.join('-')
}

/**
 * @param forms whether a text may be the part in its place
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

/** As {@link readCursorParts} for lists that are sorted by numbers. @param length how many a position of this list has */
export function readCursor(cursor: string | undefined, length: number): Position | null {
  return (
    readCursorParts(cursor, Array<typeof isNumberPart>(length).fill(isNumberPart))?.map(Number) ??
    null
  )
}

/** As {@link readCursor} for lists that are sorted by one ID. @returns undefined for the first page */
export function readIdCursor(cursor: string | undefined): number | undefined {
  return readCursor(cursor, 1)?.[0]
}

/** The error for a cursor that the service did not make. */
export function unknownCursor(): AppError {
  return new AppError('invalid_parameter', 'cursor must be one that a page before has returned')
}
