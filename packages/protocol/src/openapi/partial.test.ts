import { describe, expect, it } from 'vitest'
import {
  bindPushToken,
  getOnlineStatus,
  listJoinRequests,
  operationsById,
  setPushOff,
  startPushTask,
} from '../operations/index.js'
import { limitationOf, missingParts } from './partial.js'

describe('operations that work in part', () => {
  it('are operations of the API, each named once', () => {
    const named = missingParts.flatMap(({ operations }) => operations)
    expect(named.filter((each) => operationsById.get(each.id) !== each)).toEqual([])
    expect(new Set(named).size).toBe(named.length)
    for (const { operations } of missingParts) expect(operations.length).toBeGreaterThan(0)
  })

  it('are told from those that do all that they say', () => {
    expect(limitationOf(getOnlineStatus.id)).toContain('always false')
    expect(limitationOf(startPushTask.id)).toContain('corepush_only reaches no device')
    for (const { id } of [listJoinRequests, setPushOff, bindPushToken])
      expect(limitationOf(id)).toBeNull()
  })
})
