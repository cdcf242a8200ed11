/** WebSocket frames that a server writes (RFC 6455, section 5.2): whole and unmasked. */

const final = 0x80
const text = 0x1
const close = 0x8
const ping = 0x9
const pong = 0xa
const longLength = 126
const longestLength = 127

/** Returns a text frame. It is one buffer, so that connections share it. */
export function textFrame(content: string): Buffer {
  const length = Buffer.byteLength(content)
  const start = frameHeaderBytes(length)
  const frame = Buffer.allocUnsafe(start + length)
  writeHead(frame, text, length)
  frame.write(content, start)
  return frame
}

/** A ping without a payload. */
export const pingFrame = controlFrame(ping, Buffer.alloc(0))

/** @param payload that of the ping, at most 125 bytes */
export function pongFrame(payload: Uint8Array): Buffer {
  return controlFrame(pong, payload)
}

/** @param code null: the frame names none. @param reason at most 123 bytes */
export function closeFrame(code: number | null, reason: string): Buffer {
  if (code === null) return controlFrame(close, Buffer.alloc(0))
  const payload = Buffer.from(`  ${reason}`)
  payload.writeUInt16BE(code)
  return controlFrame(close, payload)
}

function controlFrame(opcode: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(2 + payload.length)
  writeHead(frame, opcode, payload.length)
  frame.set(payload, 2)
  return frame
}

function frameHeaderBytes(length: number): number {
  if (length < longLength) return 2
  return length < 65_536 ? 4 : 10
}

function writeHead(frame: Buffer, opcode: number, length: number): void {
  frame[0] = final | opcode
  if (length < longLength) frame[1] = length
  else if (length < 65_536) {
    frame[1] = longLength
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = longestLength
    frame.writeUInt32BE(Math.floor(length / 2 ** 32), 2)
    frame.writeUInt32BE(length % 2 ** 32, 6)
  }
}
