/** WebSocket frames (RFC 6455) with little work, so that the clients of the benchmark do not dominate it. */

/** Opcode of a text frame (RFC 6455, section 5.2). */
export const textOpcode = 1
/** Opcode of a close frame. */
export const closeOpcode = 8
const pingOpcode = 9
/** Opcode of a pong. */
export const pongOpcode = 10

const longLength = 126
const final = 0x80
const masked = 0x80

/** Reads the frames that a server writes to one connection. */
export class FrameReader {
  #rest: Buffer | null = null

  /** @param take gets each whole frame; the payload is valid during the call only */
  constructor(private readonly take: (opcode: number, payload: Buffer) => void) {}

  read(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    while (bytes.length - at >= 2) {
      const short = (bytes[at + 1] as number) & 0x7f
      const head = short < longLength ? 2 : short === longLength ? 4 : 10
      if (bytes.length - at < head) break
      const length =
        head === 2
          ? short
          : head === 4
            ? bytes.readUInt16BE(at + 2)
            : Number(bytes.readBigUInt64BE(at + 2))
      const end = at + head + length
      if (bytes.length < end) break
      this.take((bytes[at] as number) & 0xf, bytes.subarray(at + head, end))
      at = end
    }
    this.#rest = at < bytes.length ? Buffer.from(bytes.subarray(at)) : null
  }
}

/** Returns a frame of a client, under a mask of zeros. */
export function clientFrame(payload: string, opcode = textOpcode): Buffer {
  const length = Buffer.byteLength(payload)
  const head = length < longLength ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.alloc(head + 4 + length)
  frame[0] = final | opcode
  if (head === 2) frame[1] = masked | length
  else if (head === 4) {
    frame[1] = masked | longLength
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = masked | 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  frame.write(payload, head + 4)
  return frame
}

/** Tests for a ping, which is answered with its own payload. */
export function isPing(opcode: number): boolean {
  return opcode === pingOpcode
}
