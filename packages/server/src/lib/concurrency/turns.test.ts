import { describe, expect, it } from 'vitest'
import { Turns } from './turns.js'

function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

describe('Turns', () => {
  it('runs one piece in a turn of the event loop, of all work in turn', async () => {
    const turns = new Turns()
    const pieces: string[] = []
    const work = async (name: string) => {
      for await (const [item] of turns.pieces([1, 2, 3], 1)) pieces.push(`${name}${item}`)
    }
    const done = Promise.all([work('a'), work('b')])
    const seen: number[] = []
    for (let turn = 0; turn < 6; turn++) {
      await turnOfEventLoop()
      seen.push(pieces.length)
    }
    await done
    expect(pieces).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
    for (const [turn, count] of seen.entries())
      expect(count - (seen[turn - 1] ?? 2)).toBeLessThanOrEqual(1)
  })

  it('makes pieces of a list, none of an empty one', async () => {
    const piecesOf = async (list: number[]) => {
      const pieces: number[][] = []
      for await (const piece of new Turns().pieces(list, 2)) pieces.push(piece)
      return pieces
    }
    expect(await piecesOf([1, 2, 3])).toEqual([[1, 2], [3]])
    expect(await piecesOf([])).toEqual([])
  })
})
