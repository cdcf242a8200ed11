/** Cursors of the log of events, as callers keep them. */
import { AppError } from '@hermod/protocol'
import type { Histories } from '../../db/identity/histories.js'
import type { LoggedEvent } from './logged-event.js'

/** A place in the log of an application. */
export interface LogPosition {
  /** All rows up to this position were read. */
  readonly position: number
  /** The events of the next row that were read as well. */
  readonly place: number
}

/** The database and the application of a cursor. */
export interface CursorScope {
  readonly epoch: string
  readonly appId: string
}

/** Returns the place after an event. */
export function positionAfter({
  position,
  place,
  isLast = false,
}: Pick<LoggedEvent, 'position' | 'place' | 'isLast'>): LogPosition {
  return isLast ? { position, place: 0 } : { position: position - 1, place }
}

/** Returns a place as the opaque text of the contract. */
export function encodeCursor(
  { epoch, appId }: CursorScope,
  { position, place }: LogPosition,
): string {
  return [epoch, appId, position.toString(36), place.toString(36)].join('~')
}

const pattern = /^([0-9a-z-]{1,64})~([^~]{1,256})~([0-9a-z]{1,11})~([0-9a-z]{1,4})$/

/**
 * Reads a cursor. One of an earlier history is a place of this one while it is before the renewal.
 *
 * @throws AppError event_cursor_invalid when it is none, or of another application, database or history
 */
export function decodeCursor(
  text: string,
  {
    appId,
    histories,
  }: { readonly appId: string; readonly histories: Pick<Histories, 'lastPosition'> },
): LogPosition {
  const [, epoch, ofApp, position36 = '', place36 = ''] = pattern.exec(text) ?? []
  if (epoch === undefined) throw new AppError('event_cursor_invalid')
  if (ofApp !== appId) throw new AppError('event_cursor_invalid', 'it is of another application')
  const position = Number.parseInt(position36, 36)
  const place = Number.parseInt(place36, 36)
  const last = histories.lastPosition(appId, epoch)
  if (last === null)
    throw new AppError(
      'event_cursor_invalid',
      'the database was restored or replaced since; read the present state, then from the start',
    )
  if (lastRow({ position, place }) > last)
    throw new AppError(
      'event_cursor_invalid',
      'the database was restored since and has lost events that were read; read the present state, then from the start',
    )
  return { position, place }
}

/** Returns the position of the last row that was read, as a whole or in part. */
export function lastRow({ position, place }: LogPosition): number {
  return place === 0 ? position : position + 1
}
