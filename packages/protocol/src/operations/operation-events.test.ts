import { describe, expect, it } from 'vitest'
import { eventDefinitions, eventKinds } from '../events/index.js'
import { sessionOpenOp } from '../gateway/index.js'
import { operations } from './index.js'
import { eventsByOperation } from './operation-events.js'

describe('events by operation', () => {
  it('every operation has its events, or a reason for none', () => {
    const missing = operations.map(({ id }) => id).filter((id) => !(id in eventsByOperation))
    expect(missing).toEqual([])
  })

  it('every operation that an event or a reason names exists', () => {
    const known = new Set<string>([...operations.map(({ id }) => id), sessionOpenOp])
    expect(Object.keys(eventsByOperation).filter((id) => !known.has(id))).toEqual([])
  })

  it('every kind of event has an operation, except those of retention and of failing webhooks', () => {
    const without = eventKinds.filter((kind) => eventDefinitions[kind].causedBy.length === 0)
    // A number that a reader does not see stands for an event that has one.
    expect(without).toEqual(['change.skipped', 'message.expired', 'webhook.disabled'])
  })
})
