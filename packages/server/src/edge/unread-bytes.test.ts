import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { UnreadBytes, type UnreadOf } from './unread-bytes.js'

/** A connection whose client takes what the test says. */
class Reader implements UnreadOf {
  stallFactor = 1
  unreadBytes = 0
  takenBytes = 0
  progressAt = 0
  taken = 0

  constructor(
    readonly name: string,
    private readonly timeout = 0,
  ) {}

  get socket(): Socket {
    return {
      bytesWritten: this.taken + this.unreadBytes,
      writableLength: this.unreadBytes,
      timeout: this.timeout,
    } as Socket
  }
}

function setUp(bounds = { unreadBytes: 1_000, stallMs: 100 }) {
  const closed: string[] = []
  const unread: UnreadBytes<Reader> = new UnreadBytes(bounds, (reader, reason) => {
    closed.push(`${reader.name} ${reason}`)
    unread.forget(reader)
  })
  return { unread, closed }
}

describe('UnreadBytes', () => {
  it('counts what is added, taken and forgotten', () => {
    const { unread } = setUp()
    const [one, two] = [new Reader('one'), new Reader('two')]
    unread.add(one, 300)
    unread.add(one, 100)
    unread.add(two, 200)
    expect(unread.total).toBe(600)
    unread.remove(one, 300)
    unread.forget(two)
    unread.remove(two, 200)
    expect(unread.total).toBe(100)
  })

  it('closes those that hold most first, until nine tenths of the bound are left', () => {
    // All have held their bytes for the same time.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { unread, closed } = setUp()
    const readers = [100, 400, 200, 700].map((bytes, index) => ({
      bytes,
      reader: new Reader(`${index}`),
    }))
    for (const { bytes, reader } of readers) unread.add(reader, bytes)
    expect(closed).toEqual(['3 unread_bytes'])
    expect(unread.total).toBe(700)
    expect(unread.isFull()).toBe(false)
  })

  it('spares a client that has read just now while there is little too much, and says so', () => {
    const { unread, closed } = setUp()
    unread.add(new Reader('one'), 1_100)
    expect(closed).toEqual([])
    expect(unread.isFull()).toBe(true)
  })

  it('closes a client that has taken nothing for the time, and no client that reads slowly', () => {
    const { unread, closed } = setUp()
    const [slow, stalled] = [new Reader('slow'), new Reader('stalled')]
    unread.add(slow, 100)
    unread.add(stalled, 100)
    const now = performance.now()
    slow.taken = 10
    unread.sweep(now + 90)
    unread.sweep(now + 150)
    expect(closed).toEqual(['stalled unread_stalled'])
    unread.sweep(now + 300)
    expect(closed).toEqual(['stalled unread_stalled', 'slow unread_stalled'])
  })

  it('leaves a client that takes a file to the time that files have', () => {
    const { unread, closed } = setUp()
    unread.add(new Reader('file', 60_000), 100)
    unread.sweep(performance.now() + 1_000_000)
    expect(closed).toEqual([])
  })

  it('gives a large answer the time that a slow line takes', () => {
    const { unread, closed } = setUp({ unreadBytes: 10_000_000, stallMs: 100 })
    unread.add(new Reader('large'), 1_638_400)
    const now = performance.now()
    unread.sweep(now + 25_000)
    expect(closed).toEqual([])
    unread.sweep(now + 25_300)
    expect(closed).toEqual(['large unread_stalled'])
  })
})
