import type { Int64 } from '@hermod/protocol'

/** Returns a text as a WebSocket text frame of a server: a header without a mask, and the bytes. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const headerLength = length < 126 ? 2 : length < 2 ** 16 ? 4 : 10
  const frame = Buffer.allocUnsafe(headerLength + length)
  frame[0] = 0x81
  if (headerLength === 2) frame[1] = length
  else if (headerLength === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  frame.write(text, headerLength)
  return frame
}

/** Returns the frame of an event. @param change its number in the log */
export function eventFrame(kind: string, data: unknown, change?: number): Buffer {
  const number = change === undefined ? '' : `,"change":${change}`
  return textFrame(`{"event":"${kind}","data":${JSON.stringify(data)}${number}}`)
}

/** Frames of one write; those of a sender differ by what only the sender's devices see. */
export interface Frames {
  readonly all: Buffer
  /** By user, where they differ. */
  readonly own: ReadonlyMap<Int64, Buffer> | null
}

/** Asks the client to sync. */
export const syncNeededFrame = textFrame('{"event":"sync.needed"}')
/** The heartbeat of a session that has to sync. */
export const emptyFrame = textFrame('{}')
