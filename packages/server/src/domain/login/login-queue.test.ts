import { describe, expect, it } from 'vitest'
import { type LoginPurpose, LoginQueue, type LoginRequest } from './login-queue.js'

/** A queue whose hashes end when the test says so. */
class HeldQueue {
  readonly started: string[] = []
  readonly #ends = new Map<string, () => void>()
  readonly queue: LoginQueue

  constructor(parallel: number, maxWaiting: number, maxWaitingOfApp = 0) {
    this.queue = new LoginQueue({ parallel, maxWaiting, maxWaitingOfApp })
  }

  /** @returns 'done', or the error's code */
  async add(name: string, request: LoginRequest): Promise<string> {
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

const stranger = { appId: 'app', address: '198.51.100.1' } as const
const login = { purpose: 'login', ...stranger } as const
const registration = { purpose: 'registration', ...stranger } as const

/** With the Admin token of an app. */
function ofServer(appId: string, purpose: LoginPurpose = 'registration'): LoginRequest {
  return { purpose, appId, address: null }
}

describe('LoginQueue', () => {
  it('hashes a bounded number at once, and a login next, however many registrations wait', async () => {
    const held = new HeldQueue(2, 20)
    for (const name of ['r1', 'r2', 'r3', 'r4']) void held.add(name, registration)
    void held.add('l1', login)
    await settled()
    expect(held.started).toEqual(['r1', 'r2'])
    await held.end('r2')
    expect(held.started).toEqual(['r1', 'r2', 'l1'])
  })

  it('serves logins and registrations in turn, also with one slot', async () => {
    const held = new HeldQueue(1, 20)
    void held.add('l0', login)
    for (const name of ['r1', 'r2']) void held.add(name, registration)
    for (const name of ['l1', 'l2', 'l3']) void held.add(name, login)
    for (const name of ['l0', 'r1', 'l1', 'r2', 'l2']) await held.end(name)
    expect(held.started).toEqual(['l0', 'r1', 'l1', 'r2', 'l2', 'l3'])
  })

  it('refuses a caller whose half is full, but not an unbounded request', async () => {
    const held = new HeldQueue(1, 4)
    const registrations = ['r1', 'r2', 'r3', 'r4'].map((name) => held.add(name, registration))
    expect(await registrations[3]).toBe('50300')
    const logins = ['l1', 'l2', 'l3'].map((name, index) =>
      held.add(name, { ...login, address: `192.0.2.${index}` }),
    )
    expect(await logins[2]).toBe('50300')
    const unbounded = held.add('r5', { ...registration, isUnbounded: true })
    for (const name of ['r1', 'l1', 'r2', 'l2', 'r3', 'r5']) await held.end(name)
    expect(await unbounded).toBe('done')
    expect(held.queue.figures('login')).toEqual({ waiting: 0, refused: 1 })
    expect(held.queue.figures('registration')).toEqual({ waiting: 0, refused: 1 })
  })

  it('serves addresses in turn, and lets one of them have a quarter of the queue', async () => {
    const held = new HeldQueue(1, 16)
    const from = (address: string) => ({ ...login, address })
    const flood = ['a1', 'a2', 'a3', 'a4'].map((name) => held.add(name, from('192.0.2.1')))
    expect(await flood[3]).toBe('50300')
    void held.add('b1', from('192.0.2.2'))
    void held.add('c1', login)
    await held.end('a1')
    void held.add('a5', from('192.0.2.1'))
    for (const name of ['a2', 'b1', 'c1', 'a3']) await held.end(name)
    expect(held.started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'a5'])
  })

  it('bounds the server of an application apart from clients and from other applications', async () => {
    const held = new HeldQueue(1, 4, 4)
    void held.add('l0', login)
    for (const name of ['r1', 'r2']) void held.add(name, registration)
    expect(await held.add('r3', registration)).toBe('50300')
    const ours = ['a1', 'a2', 'a3'].map((name) => held.add(name, ofServer('a')))
    expect(await ours[2]).toBe('50300')
    void held.add('b1', ofServer('b'))
    void held.add('al1', ofServer('a', 'login'))
    expect(held.queue.figures('admin')).toEqual({ waiting: 4, refused: 1 })
    for (const name of ['l0', 'r1', 'a1', 'r2', 'b1', 'al1', 'a2']) await held.end(name)
    expect(held.started).toEqual(['l0', 'r1', 'a1', 'r2', 'b1', 'al1', 'a2'])
  })

  it('continues after a failure', async () => {
    const queue = new LoginQueue({ parallel: 1, maxWaiting: 8, maxWaitingOfApp: 0 })
    const failing = () => Promise.reject(new Error('no memory'))
    await expect(queue.run(login, failing)).rejects.toThrow('no memory')
    expect(await queue.run(login, async () => 'done')).toBe('done')
  })
})
