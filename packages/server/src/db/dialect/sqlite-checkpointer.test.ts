import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
    copyAgain: nothing,
    finish: state,
    scrub: async () => null,
    close: nothing,
  }
  const onError = () => failures++
  checkpointer = new Checkpointer({
    path,
    threads,
    limits: { everyMs: 100, restartFrames: 1 },
    onError,
    onHeld: () => {},
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

it('a failed sync is a failure of the pass, and the next pass copies again', async () => {
  let copiedAgain = 0
  let isSyncFailing = true
  let copied = 0
  checkpointer = new Checkpointer({
    path: join(folder, 'test.db'),
    threads: {
      ...threads,
      look: async () => ({ frames: 10, copied: 10 }),
      pass: async () => ({ frames: 10_000, copied: ++copied }),
      sync: async () => {
        if (isSyncFailing) throw new Error('no disk')
      },
      copyAgain: async () => {
        copiedAgain++
      },
    },
    limits: { everyMs: 1, restartFrames: 1 },
    onError: () => {},
    onHeld: () => {},
  })
  const { statistics } = checkpointer
  checkpointer.wrote()
  await vi.advanceTimersByTimeAsync(10)
  const { failures } = statistics
  expect(failures).toBeGreaterThan(0)
  isSyncFailing = false
  await vi.advanceTimersByTimeAsync(10_000)
  // Once for each sync that failed.
  expect([statistics.failures, copiedAgain]).toEqual([failures, failures])
})
