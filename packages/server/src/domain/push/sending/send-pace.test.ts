import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { AudiencePace } from './send-pace.js'

const { signal } = new AbortController()
const atRest = { idle: async () => {} }

test('audiences wait while the node looks through one', async () => {
  let end = () => {}
  const expander = {
    idle: () =>
      new Promise<void>((resolve) => {
        end = resolve
      }),
  }
  const pace = new AudiencePace(expander, { next: () => null })
  for (const wait of [() => pace.begin(signal), () => pace.next(signal)]) {
    let isOver = false
    const waiting = wait().then(() => {
      isOver = true
    })
    await nextTurn()
    expect(isOver).toBe(false)
    end()
    await waiting
  }
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
    idle: async ({ aborted, reason }: AbortSignal) => {
      if (aborted) throw reason
      await new Promise<void>((resolve) => releases.push(resolve))
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
