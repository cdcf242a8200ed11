import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { firstBytesOf } from './upload-head.js'

const bodies: [string, string[]][] = [
  ['nothing', []],
  ['a byte', ['a']],
  ['less than a head', ['abc', 'def']],
  ['exactly a head', ['a'.repeat(4_100)]],
  ['a head in many chunks', Array.from({ length: 5_000 }, (_, index) => String(index % 10))],
  ['more than fits into the memory of a stream', ['a'.repeat(100), 'b'.repeat(300_000)]],
]

describe('the head of a body', () => {
  it.each(bodies)('of %s is its beginning, and stays in it', async (_, chunks) => {
    const whole = Buffer.from(chunks.join(''))
    const body = Readable.from(
      chunks.map((chunk) => Buffer.from(chunk)),
      { objectMode: false },
    )
    expect(await firstBytesOf(body)).toEqual(whole.subarray(0, 4_100))
    if (whole.length > 0) expect(await buffer(body)).toEqual(whole)
    else expect(body.readableEnded).toBe(true)
  })

  it('of a body that fails is what it fails with, also before anybody asks', async () => {
    const failing = new Readable({ read() {} })
    const asked = firstBytesOf(failing)
    failing.destroy(new Error('cut'))
    await expect(asked).rejects.toThrow('cut')
    await expect(firstBytesOf(failing)).rejects.toThrow()
  })
})
