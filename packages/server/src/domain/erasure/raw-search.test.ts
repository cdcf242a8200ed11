import { expect, it } from 'vitest'
import { countTexts } from './raw-search.js'

async function* chunksOf(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

it.each([1, 2, 3, 7, 100])(
  'texts are counted once, also over the ends of chunks of %d bytes',
  async (size) => {
    const text = 'aXYZb Zürich XYZXYZ aXY'
    expect(await countTexts(chunksOf(text, size), ['XYZ', 'Zürich', 'XYZX', 'none'])).toEqual([
      3, 1, 1, 0,
    ])
  },
)
