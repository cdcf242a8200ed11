import { describe, expect, it } from 'vitest'
import { detectStoredType } from './detect-type.js'

/** A stored file, the number of bytes that were read of it, and the tokens that detecting its type costs. */
async function detection(content: Buffer) {
  let bytes = 0
  let tokens = 0
  const read = async ({ start, end }: { start: number; end: number }) => {
    bytes += end + 1 - start
    return content.subarray(start, end + 1)
  }
  const type = await detectStoredType({ size: content.length, read }, (count) => {
    tokens += count
  })
  return { type: type?.contentType, bytes, tokens }
}

/** An entry of an archive whose size follows its content, as programs write that stream. */
function streamedEntry(bytes: number): Buffer {
  const header = Buffer.alloc(30)
  header.write('PK\x03\x04')
  header.writeUInt16LE(20, 4)
  header.writeUInt16LE(8, 6)
  header.writeUInt16LE(1, 26)
  return Buffer.concat([header, Buffer.from('a'), Buffer.alloc(bytes)])
}

describe('the type of a stored file', () => {
  it('is found by a directory at its end, with few reads', async () => {
    const tiff = Buffer.alloc(10_000_000)
    tiff.write('II*\0')
    tiff.writeUInt32LE(9_999_900, 4)
    expect(await detection(tiff)).toMatchObject({ type: 'image/tiff', tokens: 0 })
  })

  it('is not searched for in all of a large archive, and the search is paid for', async () => {
    const { bytes, tokens } = await detection(streamedEntry(8_000_000))
    expect(bytes).toBeLessThan(512 * 1024)
    expect(tokens).toBeGreaterThan(10)
  })
})
