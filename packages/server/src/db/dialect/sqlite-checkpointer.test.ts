import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Checkpointer, type CheckpointThreads } from './sqlite-checkpointer.js'

const frameBytes = 4096 + 24
let folder: string
let threads: CheckpointThreads
let isFailing: boolean
let looks: number
let failures: number
let checkpointer: Checkpointer

beforeEach(() => {
  vi.useFakeTimers()
  folder = mkdtempSync(join(tmpdir(), 'hermod-checkpointer-'))
  const path = join(folder, 'test.db')
  writeFileSync(path, '')
  writeFileSync(`${path}-wal`, '')
  truncateSync(`${path}-wal`, frameBytes)
  const nothing = async () => {}
  const state = async () => ({ frames: 0, copied: 0 })
  isFailing = false
  looks = 0
  failures = 0
  threads = {
    look: async () => {
      looks++
      if (isFailing) throw new Error('no disk')
      return state()
    },
    pass: state,
    sync: nothing,
    syncMeanwhile: nothing,
    copyAgain: nothing,
    finish: state,
    close: nothing,
  }
  const onError = () => failures++
  checkpointer = new Checkpointer({
    path,
    threads,
    limits: { everyMs: 100, restartFrames: 1 },
    onError,
  })
})

afterEach(async () => {
  await checkpointer.stop()
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

/** How long it is until the log is looked at again. */
async function pause(): Promise<number> {
  const before = looks
  for (let waited = 0; ; waited += 50) {
    if (looks > before) return waited
    if (waited > 60_000) return Number.POSITIVE_INFINITY
    await vi.advanceTimersByTimeAsync(50)
  }
}

it('what fails is tried again ever later, at most after 5 s, and after a success as soon as at first', async () => {
  isFailing = true
  checkpointer.wrote()
  const pauses: number[] = []
  for (let look = 0; look < 8; look++) pauses.push(await pause())
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  isFailing = false
  expect(await pause()).toBe(5_000)
  expect([failures, checkpointer.statistics.failures]).toEqual([8, 8])
  isFailing = true
  checkpointer.wrote()
  expect([await pause(), await pause()]).toEqual([100, 200])
})

it('while somebody waits for a pass, what it has copied is synced again and again, and a failure of that is one of the pass', async () => {
  vi.useRealTimers()
  let syncs = 0
  let copiedAgain = 0
  let isSyncFailing = false
  // As it is while a writer goes on.
  const state = { frames: 10, copied: 10 }
  const busy: CheckpointThreads = {
    ...threads,
    look: async () => state,
    pass: async () => {
      const before = syncs
      await nextTurn()
      void checkpointer.idle()
      await vi.waitUntil(() => syncs > before + (isSyncFailing ? 0 : 2), {
        timeout: 60_000,
        interval: 1,
      })
      return state
    },
    syncMeanwhile: async () => {
      syncs++
      if (isSyncFailing) throw new Error('no disk')
    },
    copyAgain: async () => {
      copiedAgain++
    },
  }
  checkpointer = new Checkpointer({
    path: join(folder, 'test.db'),
    threads: busy,
    limits: { everyMs: 1, restartFrames: 1 },
    onError: () => {},
  })
  checkpointer.wrote()
  const { statistics } = checkpointer
  await vi.waitUntil(() => statistics.passes > 0, { timeout: 60_000 })
  expect(statistics.failures).toBe(0)
  isSyncFailing = true
  await vi.waitUntil(
    () => {
      checkpointer.wrote()
      return statistics.failures > 0
    },
    { timeout: 60_000 },
  )
  isSyncFailing = false
  await vi.waitUntil(() => copiedAgain > 0, { timeout: 60_000 })
})
