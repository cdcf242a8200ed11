import type { Int64 } from '@hermod/protocol'
import { stringifyJson } from '../../lib/json.js'
import { textFrame } from '../../sessions/frames.js'

/** Returns the frame of an event. @param change its number in the log */
export function encodeEvent(kind: string, data: unknown, change?: number): Buffer {
  const number = change === undefined ? '' : `,"change":${change}`
  return textFrame(`{"event":"${kind}","data":${stringifyJson(data)}${number}}`)
}

/**
 * Frames of one write. Users who may see more than the other receivers have a frame of their own,
 * which they may share.
 */
export interface Frames {
  readonly all: Buffer
  /** By user, where they differ. */
  readonly own: ReadonlyMap<Int64, Buffer> | null
}

/** Asks the client to sync. */
export const syncRequest = textFrame('{"event":"sync.needed"}')
/** The heartbeat of a session that has to sync. */
export const emptyFrame = textFrame('{}')
