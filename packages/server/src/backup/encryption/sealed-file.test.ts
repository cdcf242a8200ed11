import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isSealed,
  Opener,
  openBytes,
  openedSize,
  Sealer,
  sealBytes,
  sealedSize,
} from './sealed-file.js'

const key = randomBytes(32)
const sealedName = { key, name: 'hermod.db' }
/** Small, so that short contents have several. */
const chunkBytes = 4
const [headBytes, sealedChunk] = [48, chunkBytes + 16]

/** Passes bytes in pieces of these sizes. */
function through(stream: Sealer | Opener, bytes: Buffer, sizes: readonly number[] = []): Buffer {
  const found: Buffer[] = []
  let at = 0
  for (const size of [...sizes, bytes.length]) {
    found.push(stream.add(bytes.subarray(at, at + size)))
    at += size
  }
  return Buffer.concat([...found, stream.end()])
}
const seal = (bytes: Buffer, sizes?: readonly number[], name = sealedName) =>
  through(new Sealer(name, chunkBytes), bytes, sizes)
const open = (bytes: Buffer, sizes?: readonly number[], name = sealedName) =>
  through(new Opener(name, chunkBytes), bytes, sizes)

/** The head and the chunks of a sealed file. */
function divide(sealed: Buffer): Buffer[] {
  const starts = [0, headBytes]
  for (let at = headBytes + sealedChunk; at < sealed.length; at += sealedChunk) starts.push(at)
  return starts.map((start, index) => sealed.subarray(start, starts[index + 1]))
}

const contents = fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes))
const sizes = fc.array(fc.nat(9), { maxLength: 8 })
const runs = { numRuns: 300 }

describe('a sealed file', () => {
  it('opens as it was, in pieces of any size, and has the size that was foretold', () => {
    fc.assert(
      fc.property(contents, sizes, sizes, (bytes, written, read) => {
        const sealed = seal(bytes, written)
        expect(sealed.length).toBe(sealedSize(bytes.length, chunkBytes))
        expect(open(sealed, read)).toEqual(bytes)
      }),
      runs,
    )
  })

  // The model: the list of its chunks opens if, and only if, it is the list that was written.
  it('does not open with cut, repeated, reordered, swapped, flipped and foreign chunks', () => {
    const change = fc.oneof(
      fc.record({ kind: fc.constant('keep' as const), at: fc.nat() }),
      fc.record({ kind: fc.constant('drop' as const), at: fc.nat() }),
      fc.record({ kind: fc.constant('repeat' as const), at: fc.nat() }),
      fc.record({ kind: fc.constant('swap' as const), at: fc.nat(), with: fc.nat() }),
      fc.record({ kind: fc.constant('flip' as const), at: fc.nat(), bit: fc.nat() }),
      fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }),
      fc.record({ kind: fc.constant('foreign' as const), at: fc.nat() }),
    )
    fc.assert(
      fc.property(contents, fc.array(change, { minLength: 1, maxLength: 3 }), (bytes, changes) => {
        const sealed = seal(bytes)
        const foreign = divide(seal(bytes))
        let chunks = divide(sealed)
        for (const each of changes) {
          const at = each.at % Math.max(1, chunks.length)
          const chunk = chunks[at] ?? Buffer.alloc(0)
          if (each.kind === 'drop') chunks = chunks.toSpliced(at, 1)
          if (each.kind === 'repeat') chunks = chunks.toSpliced(at, 0, chunk)
          if (each.kind === 'cut') chunks = chunks.with(at % chunks.length || 0, chunk.subarray(1))
          if (each.kind === 'foreign') chunks = chunks.with(at, foreign[at] ?? chunk)
          if (each.kind === 'swap') {
            const other = each.with % Math.max(1, chunks.length)
            chunks = chunks.with(at, chunks[other] as Buffer).with(other, chunk)
          }
          if (each.kind === 'flip' && chunk.length > 0) {
            const flipped = Buffer.from(chunk)
            const bit = each.bit % (chunk.length * 8)
            flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
            chunks = chunks.with(at, flipped)
          }
          if (chunks.length === 0) return
        }
        const changed = Buffer.concat(chunks)
        if (changed.equals(sealed)) expect(open(changed)).toEqual(bytes)
        else if (!changed.equals(Buffer.concat(foreign))) expect(() => open(changed)).toThrow()
      }),
      { numRuns: 1_000 },
    )
  })

  it('does not open at any length but its own', () => {
    const sealed = seal(Buffer.from('0123456789'))
    for (let length = 0; length < sealed.length; length++)
      expect(() => open(sealed.subarray(0, length)), `${length}`).toThrow()
    expect(() => open(Buffer.concat([sealed, Buffer.from('x')]))).toThrow()
  })

  it('does not open when any bit of it is another one', () => {
    const sealed = seal(Buffer.from('0123456789'))
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const flipped = Buffer.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
      expect(() => open(flipped), `${bit}`).toThrow()
    }
  })

  it('does not open under another name or key', () => {
    const sealed = seal(Buffer.from('text'))
    expect(() => open(sealed, [], { key, name: 'files.ndjson' })).toThrow('it was changed')
    expect(() => open(sealed, [], { ...sealedName, key: randomBytes(32) })).toThrow('was changed')
  })

  it('differs each time, and shows nothing of its contents', () => {
    const text = Buffer.from('a text that is known')
    const [first, second] = [sealBytes(text, sealedName), sealBytes(text, sealedName)]
    expect(first.equals(second)).toBe(false)
    expect(first.includes('known')).toBe(false)
    expect(isSealed(first)).toBe(true)
    expect(() => openBytes(text, sealedName)).toThrow('it was cut')
  })

  it('shows the size of its contents', () => {
    for (const size of [0, 1, 65_535, 65_536, 65_537, 200_000])
      expect(openedSize(sealedSize(size))).toBe(size)
  })

  it('is opened by every later version', () => {
    const known = { key: Buffer.alloc(32, 1), name: 'hermod.db' }
    const stored = Buffer.from(
      'aGVybW9kLXNlYWxlZC0xCgAT/QlQMmGTWmcWFNS/1g7cqPR0r2rCqDOjqN9WorIEswOm9kbGHAqQ5/Tn8Y5taKkw3JBIdZBjJzE=',
      'base64',
    )
    expect(openBytes(stored, known).toString()).toBe('between us')
  })
})
