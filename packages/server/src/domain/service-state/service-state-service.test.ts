import { type Operation, sendMessage } from '@hermod/protocol'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Database } from '../../db/database.js'
import { ServiceState, type WritesFigure } from './service-state.js'
import { ServiceStateService } from './service-state-service.js'

const now = 1_000
const write = sendMessage as unknown as Operation
const user = { kind: 'user' }

let state: ServiceState
let otherNodes: () => Promise<WritesFigure[]>
let service: ServiceStateService

beforeEach(() => {
  state = new ServiceState()
  otherNodes = async () => []
  service = new ServiceStateService({
    database: {
      statement: (work: (tx: object) => Promise<unknown>) => work({}),
    } as unknown as Database,
    store: { current: vi.fn(), setState: async () => true },
    state,
    otherNodes: () => otherNodes(),
    clock: { now: () => now },
  })
})

describe('the begin of maintenance', () => {
  it('waits for the calls in progress that may write, and refuses new ones meanwhile', async () => {
    expect(state.begin(write, user)).toBe(true)
    expect(state.begin(write, { kind: 'operator' })).toBe(false)
    const ended = vi.fn()
    const beginning = service.beginMaintenance('').then(ended)
    await vi.waitUntil(() => !state.isServing)
    expect(() => state.begin(write, user)).toThrow('maintenance')
    expect(ended).not.toHaveBeenCalled()
    state.writeEnded()
    await beginning
  })

  it('waits until the other nodes know it and have no such calls', async () => {
    const figures: WritesFigure[][] = [
      [{ since: 0, writes: 0 }],
      [{ since: now, writes: 1 }],
      [{ since: now, writes: 0 }],
    ]
    otherNodes = async () => figures.shift() ?? []
    await service.beginMaintenance('')
    expect(figures).toEqual([])
  })
})
