import { beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../lib/clock.js'
import { CommandJobs } from './command-jobs.js'
import { type LongJobRun, type LongJobs, longJobHandler, longJobKind } from './long-job-model.js'

const kind = longJobKind<object, { readonly parts: number }>('work')
const stored = {
  get: vi.fn(async () => {
    throw new Error('job does not exist')
  }),
} as unknown as LongJobs

let work: (run: LongJobRun) => Promise<{ readonly parts: number }>
let jobs: CommandJobs

beforeEach(() => {
  const handler = longJobHandler(kind, (_, run) => work(run))
  jobs = new CommandJobs({ stored, handlerOf: () => handler, clock: systemClock })
})

const ended = (jobId: number) => vi.waitUntil(async () => (await jobs.get(jobId)).endedAt !== null)

describe('jobs in the process of a command', () => {
  it('run at once, with progress and a result', async () => {
    work = async ({ progress }) => {
      progress({ done: 1, total: 2 })
      progress({ done: 2, text: 'the last step' })
      return { parts: 2 }
    }
    const jobId = await jobs.start(kind, {})
    await ended(jobId)
    expect(await jobs.get(jobId)).toMatchObject({
      ...{ state: 'done', done: 2, total: 2, text: '', result: { parts: 2 } },
    })
  })

  it('fail with the message of their handler', async () => {
    work = async () => {
      throw new Error('the target is gone')
    }
    const jobId = await jobs.start(kind, {})
    await ended(jobId)
    expect(await jobs.get(jobId)).toMatchObject({ state: 'failed', error: 'the target is gone' })
  })

  it('stop: cancels what runs, and waits until it has cleaned up', async () => {
    let isClean = false
    work = ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () =>
          setImmediate(() => {
            isClean = true
            reject(signal.reason)
          }),
        )
      })
    const jobId = await jobs.start(kind, {})
    await expect(jobs.start(kind, {})).rejects.toThrow(
      'such a job is unfinished: work, job 1; wait for its end, or run hermod job cancel 1',
    )
    await jobs.stop()
    expect(isClean).toBe(true)
    expect(await jobs.get(jobId)).toMatchObject({ state: 'cancelled', isCancelled: true })
  })

  it('leave the stored jobs to the database', async () => {
    await expect(jobs.get(99)).rejects.toThrow('job does not exist')
  })
})
