import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BackgroundPause } from './background-pause.js'

/** A clock, a counter and an event loop in the hands of a test. */
function make() {
  const state = { now: 0, count: 0, active: 0, idle: 0 }
  const pause = new BackgroundPause({
    count: () => state.count,
    now: () => state.now,
    utilization: (after, before) => {
      if (!after || !before) return { active: state.active, idle: state.idle, utilization: 0 }
      const active = after.active - before.active
      return { active, idle: 0, utilization: active / (active + after.idle - before.idle) }
    },
  })
  /** 100 ms in which the event loop is at work for a share of the time. */
  const pass = (busy: number, counted = 1) => {
    state.now += 100
    state.active += 100 * busy
    state.idle += 100 * (1 - busy)
    state.count += counted
    return pause.next()
  }
  return { state, pause, pass }
}

test('BackgroundPause: no pause while no urgent work is counted, and from a second after the last', () => {
  const { state, pause, pass } = make()
  expect(pause.next()).toBeNull()
  expect(pass(1, 0)).toBeNull()
  expect(pass(0.5)).not.toBeNull()
  for (let round = 0; round < 9; round++) expect(pass(0.5, 0)).not.toBeNull()
  expect(pass(0.5, 0)).toBeNull()
  state.count++
  expect(pause.next()).toBeNull()
  expect(pass(0.5, 0)).not.toBeNull()
})

test('BackgroundPause: the pause grows while the event loop is busy, and shrinks while it is not, within bounds', () => {
  const { pass } = make()
  const busy = Array.from({ length: 20 }, () => pass(0.9))
  expect(busy[0]).toBe(1.5)
  expect(busy).toEqual([...busy].sort((a, b) => Number(a) - Number(b)))
  expect(busy.at(-1)).toBe(40)
  expect(pass(0.5)).toBe(40)
  const free = Array.from({ length: 20 }, () => pass(0.2))
  expect(free[0]).toBeCloseTo(40 / 1.5)
  expect(free.at(-1)).toBe(1)
})

test('BackgroundPause: the pause stays the same within a tenth of a second', () => {
  const { state, pause, pass } = make()
  const first = pass(0.9)
  state.now += 99
  state.active += 99
  expect(pause.next()).toBe(first)
  state.now += 1
  expect(pause.next()).toBeGreaterThan(first as number)
})

test('BackgroundPause: measures the event loop of this process by default', () => {
  let count = 0
  let now = 0
  const pause = new BackgroundPause({ count: () => count, now: () => now })
  const pauses = Array.from({ length: 40 }, () => {
    count++
    now += 100
    // Nothing but work between two looks.
    for (const from = performance.now(); performance.now() - from < 1; );
    return pause.next() ?? 0
  })
  expect(pauses.at(-1)).toBe(40)
})

test('BackgroundPause: parts of the work rest one after another, and an aborted one lets the next begin', async () => {
  const { pause, pass } = make()
  pass(0.5)
  const { signal } = new AbortController()
  const order: string[] = []
  const first = pause.rest(signal).then((rested) => order.push(`first ${rested}`))
  const aborted = pause
    .rest(AbortSignal.abort(new Error('the run ends')))
    .catch((error: Error) => order.push(error.message))
  const third = pause.rest(signal).then((rested) => order.push(`third ${rested}`))
  await nextTurn()
  expect(order).toEqual([])
  await Promise.all([first, aborted, third])
  expect(order).toEqual(['first true', 'the run ends', 'third true'])
})

test('BackgroundPause: a part begins at once while nothing is counted', async () => {
  const { pause } = make()
  expect(await pause.rest(new AbortController().signal)).toBe(false)
})
