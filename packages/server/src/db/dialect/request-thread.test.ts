import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { RequestThread } from './request-thread.js'

/** Counts its requests; throws at 'throw', stops at 'exit', and takes 'hang' without an answer. */
const counting = `
  const { parentPort } = require('node:worker_threads')
  let count = 0
  parentPort.on('message', (request) => {
    if (request.close) return parentPort.close()
    if (request === 'throw') throw new Error('thrown')
    if (request === 'exit') process.exit()
    if (request !== 'hang') parentPort.postMessage(request + ' ' + ++count)
  })`

const workers: Worker[] = []
const makeThread = () =>
  new RequestThread<unknown, string>({
    start() {
      const worker = new Worker(counting, { eval: true })
      workers.push(worker)
      return worker
    },
    failure: (cause) => new Error(cause?.message ?? 'stopped'),
  })

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()))
})

describe('a thread that answers requests', () => {
  it('is started when it is needed, and answers in order', async () => {
    const thread = makeThread()
    expect(workers).toHaveLength(0)
    await expect(thread.ask('a')).rejects.toThrow('stopped')
    thread.revive()
    thread.revive()
    expect(await Promise.all(['a', 'b', 'c'].map((each) => thread.ask(each)))).toEqual([
      'a 1',
      'b 2',
      'c 3',
    ])
    expect(workers).toHaveLength(1)
  })

  it.each([
    ['throw', 'thrown'],
    ['exit', 'stopped'],
  ])(
    'fails what is under way when it ends (%s), and another one takes its place',
    async (end, failure) => {
      const thread = makeThread()
      thread.revive()
      expect(await thread.ask('a')).toBe('a 1')
      const settled = await Promise.allSettled(['hang', end, 'b'].map((each) => thread.ask(each)))
      expect(settled.map((each) => each.status === 'rejected' && each.reason.message)).toEqual(
        Array(3).fill(failure),
      )
      await expect(thread.ask('c')).rejects.toThrow('stopped')
      thread.revive()
      expect(await thread.ask('d')).toBe('d 1')
    },
  )

  it('goes on after a request that cannot cross', async () => {
    const thread = makeThread()
    thread.revive()
    await expect(thread.ask(() => {})).rejects.toThrow('could not be cloned')
    expect(await thread.ask('a')).toBe('a 1')
  })

  it('answers before it closes, and is not started again', async () => {
    const thread = makeThread()
    thread.revive()
    const answer = thread.ask('a')
    await thread.close()
    expect(await answer).toBe('a 1')
    thread.revive()
    await expect(thread.ask('a')).rejects.toThrow('stopped')
    expect(workers).toHaveLength(1)
  })
})
