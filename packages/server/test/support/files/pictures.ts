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

/**
 * A progressive JPEG in three colours of 2,649 scans without content: each costs a decoder a pass
 * over all pixels.
 */
export function manyScans(side: number): Buffer {
  const colours = [1, 2, 3]
  const blocks = Math.ceil(side / 8) ** 2
  const lengths = Buffer.alloc(16)
  // One code of one bit.
  lengths[0] = 1
  const zeros = (bits: number) => Buffer.alloc(Math.ceil(bits / 8))
  const table = (id: number, symbol: number) =>
    jpegSegment(0xc4, Buffer.concat([Buffer.from([id]), lengths, Buffer.from([symbol])]))
  const size = [side >> 8, side & 255, side >> 8, side & 255]
  const first = colours.flatMap((colour) => [
    jpegSegment(0xda, Buffer.from([1, colour, 0, 0, 0, 0])),
    zeros(blocks),
  ])
  // Runs of 16,384 empty blocks, each of 15 bits.
  const empty = zeros(Math.ceil(blocks / 16_384) * 15)
  const scans: Buffer[] = []
  for (let coefficient = 1; coefficient < 64; coefficient++)
    for (let bit = 13; bit >= 0; bit--)
      for (const colour of colours) {
        const bits = ((bit === 13 ? 0 : bit + 1) << 4) | bit
        const scan = Buffer.from([1, colour, 0, coefficient, coefficient, bits])
        scans.push(jpegSegment(0xda, scan), empty)
      }
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    jpegSegment(0xdb, Buffer.concat([Buffer.from([0]), Buffer.alloc(64, 1)])),
    jpegSegment(
      0xc2,
      Buffer.from([8, ...size, 3, ...colours.flatMap((colour) => [colour, 0x11, 0])]),
    ),
    ...[table(0, 0), table(0x10, 0xe0), ...first, ...scans],
    Buffer.from([0xff, 0xd9]),
  ])
}

function jpegSegment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(content.length + 2, 2)
  return Buffer.concat([head, content])
}
