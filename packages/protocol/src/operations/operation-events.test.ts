import { describe, expect, it } from 'vitest'
import { eventDefinitions, eventKinds } from '../events/index.js'
import { sessionOpenOp } from '../gateway/index.js'
import { operations } from './index.js'
import { eventsByOperation, isRead } from './operation-events.js'

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

  it('operations with GET are reads, except those that move a position, join a group or issue a ticket', () => {
    const gets = operations.filter(({ methods }) => methods.includes('GET'))
    expect(gets.map(({ id }) => id).filter((id) => !isRead(id))).toEqual([
      'message.ack',
      'app.qrcode.group_invite',
      'file.upload.avatar.group',
      'file.upload.avatar.user',
      'file.upload.chat',
      'file.upload.done',
      'file.upload.forward',
    ])
  })
})
