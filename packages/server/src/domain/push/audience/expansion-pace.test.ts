import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ExpansionPace } from './expansion-pace.js'

const { signal } = new AbortController()

/** A pace by a clock that the test moves. */
function make({ isNeeded }: { isNeeded: boolean }) {
  const state = { now: 1_000, isNeeded }
  const messages = {
    get isNeeded() {
      return state.isNeeded
    },
  }
  return { state, pace: new ExpansionPace(messages, { now: () => state.now }) }
}

/** Whether it begins at once. */
async function begins(pace: ExpansionPace, users: number): Promise<boolean> {
  const ending = new AbortController()
  const begun = pace.begin(users, ending.signal).then(
    () => true,
    () => false,
  )
  ending.abort(new Error('not yet'))
  return begun
}

test('nobody waits where there are no messages', async () => {
  const { pace } = make({ isNeeded: false })
  for (let round = 0; round < 10; round++) expect(await begins(pace, 100_000)).toBe(true)
})

test('beside messages a million users take less than a minute, and more than forty seconds', async () => {
  const { state, pace } = make({ isNeeded: true })
  const from = state.now
  for (let users = 0; users < 1_000_000; users += 1_000) {
    while (!(await begins(pace, 0))) state.now += 1
    await pace.begin(1_000, signal)
  }
  const seconds = (state.now - from) / 1_000
  expect(seconds).toBeGreaterThan(40)
  expect(seconds).toBeLessThan(60)
})

test('what was slow for long is not made up for', async () => {
  const { state, pace } = make({ isNeeded: true })
  await pace.begin(100, signal)
  state.now += 60_000
  expect(await begins(pace, 40_000)).toBe(true)
  expect(await begins(pace, 1)).toBe(false)
})

test('two seconds of what was missed are made up for', async () => {
  const { state, pace } = make({ isNeeded: true })
  const beginTogether = async () => {
    let users = 0
    for (; await begins(pace, 0); users += 1_000) await pace.begin(1_000, signal)
    return users
  }
  await beginTogether()
  state.now += 2_000
  const users = await beginTogether()
  expect(users).toBeGreaterThan(30_000)
  expect(users).toBeLessThan(36_000)
})

test('beside messages nobody begins during a checkpoint', async () => {
  let end = () => {}
  const checkpoint = new Promise<void>((resolve) => {
    end = resolve
  })
  const pace = new ExpansionPace({ isNeeded: true }, { now: () => 1_000 }, () => checkpoint)
  let hasBegun = false
  const begun = pace.begin(10, signal).then(() => {
    hasBegun = true
  })
  await nextTurn()
  expect(hasBegun).toBe(false)
  end()
  await begun
})

test('without messages nobody waits for a checkpoint', async () => {
  const endless = () => new Promise<void>(() => {})
  const pace = new ExpansionPace({ isNeeded: false }, { now: () => 1_000 }, endless)
  expect(await begins(pace, 10)).toBe(true)
})
