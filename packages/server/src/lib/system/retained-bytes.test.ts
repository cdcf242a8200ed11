import { describe, expect, it } from 'vitest'
import { compacted, retainedBytes } from './retained-bytes.js'

describe('the memory of a chunk', () => {
  it('is that of the whole buffer below, and of the objects around it', () => {
    const read = Buffer.allocUnsafeSlow(65_536)
    for (const chunk of [read, read.subarray(7, 8)]) expect(retainedBytes(chunk)).toBe(65_536 + 300)
  })

  it('becomes that of its bytes when they are less than half of it', () => {
    const read = Buffer.allocUnsafeSlow(65_536)
    const half = read.subarray(0, 32_768)
    expect(compacted(half)).toBe(half)
    const less = compacted(read.subarray(0, 32_767))
    expect([less.length, retainedBytes(less)]).toEqual([32_767, 32_767 + 300])
    expect(less.equals(read.subarray(0, 32_767))).toBe(true)
  })
})
