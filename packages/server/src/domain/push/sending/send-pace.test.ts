import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { AudiencePace } from './send-pace.js'

const { signal } = new AbortController()
const atRest = { idle: async () => true }

test('a few are sent while the node looks through an audience', async () => {
  const waited: number[] = []
  const expander = {
    idle: async (withinMs: number) => {
      waited.push(withinMs)
      return false
    },
  }
  const pace = new AudiencePace(expander, { next: () => null })
  expect([await pace.next(signal), await pace.next(signal)]).toEqual([8, 8])
  expect(waited).toEqual([100, 100])
})

test('all are sent where nobody sends messages, and else some after each rest', async () => {
  const rests = [null, 1, null]
  const pace = new AudiencePace(atRest, { next: () => rests.shift() ?? null })
  const sent = [await pace.next(signal), await pace.next(signal), await pace.next(signal)]
  expect(sent).toEqual([Number.POSITIVE_INFINITY, 16, Number.POSITIVE_INFINITY])
})

test('batches take turns, also after one that was told to end', async () => {
  const order: string[] = []
  const releases: (() => void)[] = []
  const expander = {
    idle: async (_: number, { aborted, reason }: AbortSignal) => {
      if (aborted) throw reason
      await new Promise<void>((resolve) => releases.push(resolve))
      return true
    },
  }
  const pace = new AudiencePace(expander, { next: () => null })
  const ended = AbortSignal.abort(new Error('told to end'))
  const first = pace.next(signal).then(() => order.push('first'))
  const second = pace.next(ended).catch(() => order.push('told to end'))
  const third = pace.next(signal).then(() => order.push('third'))
  await nextTurn()
  expect([order, releases.length]).toEqual([[], 1])
  releases.shift()?.()
  await Promise.all([first, second])
  await nextTurn()
  expect([order, releases.length]).toEqual([['first', 'told to end'], 1])
  releases.shift()?.()
  await third
})
