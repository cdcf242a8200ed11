import { describe, expect, it } from 'vitest'
import { HashingQueue, type HashingRequest } from './hashing-queue.js'

/** A queue whose hashes end when the test says so. */
class HeldQueue {
  readonly started: string[] = []
  readonly #ends = new Map<string, () => void>()
  readonly queue: HashingQueue

  constructor(parallel: number, maxWaiting: number) {
    this.queue = new HashingQueue({ parallel, maxWaiting })
  }

  /** @returns 'done', or the error's code */
  async add(name: string, request: HashingRequest): Promise<string> {
    try {
      return await this.queue.run(request, async () => {
        this.started.push(name)
        await new Promise<void>((end) => this.#ends.set(name, end))
        return 'done'
      })
    } catch (error) {
      return `${(error as { entry: { code: number } }).entry.code}`
    }
  }

  async end(name: string): Promise<void> {
    await settled()
    this.#ends.get(name)?.()
    await settled()
  }
}

/** Everything that waits for nothing else has gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const login = { purpose: 'login', address: null } as const
const registration = { purpose: 'registration' } as const

describe('HashingQueue', () => {
  it('keeps one place free of registrations', async () => {
    const held = new HeldQueue(3, 10)
    for (const name of ['r1', 'r2', 'r3']) void held.add(name, registration)
    await settled()
    expect(held.started).toEqual(['r1', 'r2'])
    for (const name of ['l1', 'l2']) void held.add(name, login)
    await settled()
    expect(held.started).toEqual(['r1', 'r2', 'l1'])
  })

  it('lets both take turns where both wait, also with one place', async () => {
    const held = new HeldQueue(1, 20)
    void held.add('l0', login)
    for (const name of ['r1', 'r2']) void held.add(name, registration)
    for (const name of ['l1', 'l2', 'l3']) void held.add(name, login)
    for (const name of ['l0', 'r1', 'l1', 'r2', 'l2']) await held.end(name)
    expect(held.started).toEqual(['l0', 'r1', 'l1', 'r2', 'l2', 'l3'])
  })

  it('refuses what finds its half full, and lets in what is patient', async () => {
    const held = new HeldQueue(1, 4)
    const registrations = ['r1', 'r2', 'r3', 'r4'].map((name) => held.add(name, registration))
    expect(await registrations[3]).toBe('50300')
    const logins = ['l1', 'l2', 'l3'].map((name) => held.add(name, login))
    expect(await logins[2]).toBe('50300')
    const patient = held.add('r5', { ...registration, isPatient: true })
    for (const name of ['r1', 'l1', 'r2', 'l2', 'r3', 'r5']) await held.end(name)
    expect(await patient).toBe('done')
    expect([held.queue.waiting('login'), held.queue.waiting('registration')]).toEqual([0, 0])
  })

  it('leaves one client address a quarter of the logins, until they are done', async () => {
    const held = new HeldQueue(1, 16)
    const from = (address: string) => ({ ...login, address })
    const flood = ['a1', 'a2', 'a3'].map((name) => held.add(name, from('192.0.2.1')))
    expect(await flood[2]).toBe('50300')
    void held.add('b1', from('192.0.2.2'))
    await held.end('a1')
    void held.add('a4', from('192.0.2.1'))
    for (const name of ['a2', 'b1']) await held.end(name)
    expect(held.started).toEqual(['a1', 'a2', 'b1', 'a4'])
  })

  it('goes on after a failure', async () => {
    const queue = new HashingQueue({ parallel: 1, maxWaiting: 4 })
    const failing = () => Promise.reject(new Error('no memory'))
    await expect(queue.run(login, failing)).rejects.toThrow('no memory')
    expect(await queue.run(login, async () => 'done')).toBe('done')
  })
})
