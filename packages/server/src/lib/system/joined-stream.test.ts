import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { JoinedStream } from './joined-stream.js'
import { retainedBytes } from './retained-bytes.js'

async function chunksOf(stream: JoinedStream): Promise<number[]> {
  const lengths: number[] = []
  for await (const chunk of stream) lengths.push((chunk as Buffer).length)
  return lengths
}

describe('a stream of joined chunks', () => {
  it('gives a waiting reader the chunks of one step of the event loop as one', async () => {
    const stream = new JoinedStream(() => {})
    const chunks = chunksOf(stream)
    await turn()
    for (let count = 0; count < 1_000; count++) stream.append(Buffer.from('x'))
    await turn()
    stream.append(Buffer.from('last'))
    stream.end()
    expect(await chunks).toEqual([1_000, 4])
  })

  it('gives a waiting reader the chunks of one read as one, though ticks run between them', async () => {
    const stream = new JoinedStream(() => {})
    const chunks = chunksOf(stream)
    await turn()
    for (let count = 0; count < 10; count++) {
      stream.append(Buffer.from('x'))
      await new Promise<void>((resolve) => process.nextTick(resolve))
    }
    stream.end()
    expect(await chunks).toEqual([10])
  })

  it('passes on chunks that keep no more memory alive than twice their bytes', async () => {
    const stream = new JoinedStream(() => {})
    const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    for (const length of [1, 9_000, 70_000]) {
      stream.append(Buffer.alloc(length))
      const { value } = await chunks.next()
      expect(retainedBytes(value)).toBeLessThan(2 * length + 400)
    }
    stream.destroy()
  })

  it('asks its writer to pause after the first chunk until it is read, and later when it is full', async () => {
    const stream = new JoinedStream(() => {})
    stream.append(Buffer.alloc(1))
    expect(stream.isFull).toBe(true)
    stream.on('readable', () => {})
    await turn()
    stream.append(Buffer.alloc(65_535))
    expect(stream.isFull).toBe(false)
    stream.append(Buffer.alloc(1))
    expect(stream.isFull).toBe(true)
  })

  it('reports the bytes that it holds until they are read', async () => {
    const held: number[] = []
    const stream: JoinedStream = new JoinedStream(() => held.push(stream.held))
    stream.append(Buffer.alloc(100_000))
    stream.end()
    expect(held.at(-1)).toBeGreaterThanOrEqual(100_000)
    expect(await chunksOf(stream)).toEqual([100_000])
    expect(held.at(-1)).toBe(0)
  })

  it('is empty when it ends without a chunk, and holds nothing when it is destroyed', async () => {
    const empty = new JoinedStream(() => {})
    empty.end()
    expect(await chunksOf(empty)).toEqual([])
    const destroyed = new JoinedStream(() => {})
    destroyed.append(Buffer.alloc(100))
    destroyed.destroy()
    expect(destroyed.held).toBe(0)
  })
})
