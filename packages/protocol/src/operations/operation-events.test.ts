import { describe, expect, it } from 'vitest'
import { operations } from './index.js'
import { eventSchemas } from '../events/index.js'
import { eventsByOperation } from './operation-events.js'

describe('events by operation', () => {
  it('every operation has its events, or a reason for none', () => {
    const missing = operations.map(({ id }) => id).filter((id) => !(id in eventsByOperation))
    expect(missing).toEqual([])
  })

  it('every kind of event with an actor is listed for an operation, except those of retention and of failing webhooks', () => {
    const listed = new Set(Object.values(eventsByOperation).flat())
    // A number that a reader does not see has no actor.
    const kinds = Object.keys(eventSchemas).filter((kind) => kind !== 'change.skipped')
    expect(kinds.filter((kind) => !listed.has(kind))).toEqual([
      'message.expired',
      'webhook.disabled',
    ])
  })
})
