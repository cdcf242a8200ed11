/** Cursors of the log of events, as callers keep them. */
import { AppError } from '@hermod/protocol'
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
 * Reads a cursor.
 *
 * @throws AppError event_cursor_invalid when it is none, or of another application or database
 */
export function decodeCursor(text: string, { epoch, appId }: CursorScope): LogPosition {
  const [, ofEpoch, ofApp, position = '', place = ''] = pattern.exec(text) ?? []
  if (ofEpoch === undefined) throw new AppError('event_cursor_invalid')
  if (ofApp !== appId) throw new AppError('event_cursor_invalid', 'it is of another application')
  if (ofEpoch !== epoch)
    throw new AppError(
      'event_cursor_invalid',
      'the database was restored or replaced since; read from the start',
    )
  return { position: Number.parseInt(position, 36), place: Number.parseInt(place, 36) }
}
