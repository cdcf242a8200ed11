import { PassThrough } from 'node:stream'
import { getJob, type Int64, listApps, type Operation } from '@hermod/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { commandWork } from '../../main.js'
import type { OperatorAnswer } from './call.js'
import { CommandContext } from './command.js'
import { runLongJob } from './long-job.js'

/** Stands for an operation that starts a job. */
const start = listApps as unknown as Operation<object, { job_id: Int64 }>
const job = {
  ...{ job_id: 7, kind: 'count', state: 'running', is_cancelled: false, done: 0, total: 4 },
  ...{ text: 'counting', result: {}, error: '', created_at: 1, started_at: 2, ended_at: 0 },
}
const ended = (more: object) => ({ ...job, ended_at: 3, ...more })

let calls: string[]
let stdout: PassThrough
let interrupt: () => void
let listening: AbortSignal | undefined

beforeEach(() => {
  calls = []
  stdout = new PassThrough()
})

/** Runs the command against a server, or in its process, that shows the states one after the other. */
function run(
  states: readonly (object | Error)[],
  { isLocal = false, json = false }: { isLocal?: boolean; json?: boolean } = {},
): Promise<object> {
  let next = 0
  const interrupted = new Promise<void>((resolve) => {
    interrupt = resolve
  })
  const context = new CommandContext({
    ...commandWork,
    env: { HERMOD_DATA_DIR: '/nonexistent/hermod' },
    ...{ stdin: new PassThrough(), stdout, stderr: new PassThrough() },
    interrupted: (until) => {
      listening = until
      return interrupted
    },
    local: async () => ({
      isLocal,
      async call(id): Promise<OperatorAnswer> {
        calls.push(id)
        if (id === start.id) return { code: 200, data: { job_id: 7 }, message: null }
        const state = states[Math.min(next++, states.length - 1)]
        if (state instanceof Error) throw state
        return { code: 200, data: state, message: null }
      },
      close: async () => {},
    }),
  })
  return runLongJob(context, { operation: start, params: {}, options: { json } })
}

const lines = () =>
  String(stdout.read() ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

describe('runLongJob', () => {
  it('returns the result of the job', async () => {
    const result = { counted: 4 }
    expect(await run([job, ended({ state: 'done', result })])).toEqual(result)
    expect(lines()).toEqual([])
  })

  it('listens for signals until its end', async () => {
    await run([ended({ state: 'done' })])
    expect(listening?.aborted).toBe(true)
  })

  it('--json: prints a line for each change, the last one with the result', async () => {
    const states = [job, job, { ...job, done: 2 }, ended({ state: 'done', result: { counted: 4 } })]
    await run(states, { json: true })
    expect(lines()).toEqual([states[0], states[2], states[3]])
  })

  it('fails with the reason of the job', async () => {
    const failed = ended({ state: 'failed', error: 'the disk is full' })
    await expect(run([failed])).rejects.toThrow('the disk is full')
    await expect(run([ended({ state: 'cancelled' })])).rejects.toThrow('was cancelled')
  })

  it('interrupted with a server: says that the job continues, and cancels nothing', async () => {
    const running = run([job])
    interrupt()
    await expect(running).rejects.toThrow(/job 7 continues .+ hermod job cancel 7/)
    expect(calls).not.toContain('operator.job.cancel')
  })

  it('interrupted without a server: cancels the work', async () => {
    const running = run([job], { isLocal: true })
    interrupt()
    await expect(running).rejects.toThrow('cancelled')
    expect(calls.at(-1)).toBe('operator.job.cancel')
  })

  it('a server that starts again meanwhile: looks again', async () => {
    const { CommandFailure } = await import('./call.js')
    const gone = new CommandFailure('the running server cannot be reached')
    expect(await run([gone, ended({ state: 'done', result: { counted: 4 } })])).toEqual({
      counted: 4,
    })
    expect(calls.filter((id) => id === getJob.id)).toHaveLength(2)
  })
})
