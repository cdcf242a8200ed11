/** Pictures that are larger than their files, made by hand. */
import { crc32, deflateSync } from 'node:zlib'

function pngChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, checksum])
}

/** A grey PNG that says to have this size in pixels; by default it has it, in few bytes. */
export function png(width: number, height: number, rows = height): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.alloc((width + 1) * rows))),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** A GIF of frames of one pixel on a screen of this size. */
export function gif(width: number, height: number, frames: number): Buffer {
  const screen = Buffer.alloc(4)
  screen.writeUInt16LE(width, 0)
  screen.writeUInt16LE(height, 2)
  const frame = Buffer.from('21f90400010000002c00000000010001000002024401' + '00', 'hex')
  return Buffer.concat([
    Buffer.from('GIF89a'),
    screen,
    Buffer.from('f00000ff0000000000', 'hex'),
    ...Array.from({ length: frames }, () => frame),
    Buffer.from(';'),
  ])
}
