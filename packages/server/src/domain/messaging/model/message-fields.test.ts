import { expect, it } from 'vitest'
import { changedFields, fieldsOf } from './message-fields.js'

const pinned = { by: 7, at: 1_000 }
const reactions = [{ key: '👍', count: 1, latest: [7] }]

it('fields of a message: a change replaces the fields that it names and keeps the others', () => {
  const first = changedFields({ fields: null }, { pinned, reactions })
  const second = changedFields({ fields: first }, { pinned: { by: 8, at: 2_000 } })
  expect(fieldsOf({ fields: second })).toEqual({ pinned: { by: 8, at: 2_000 }, reactions })
})

it('fields of a message: null removes a field, and without any the row has none', () => {
  const both = changedFields({ fields: null }, { pinned, reactions })
  const one = changedFields({ fields: both }, { reactions: null })
  expect(fieldsOf({ fields: one })).toEqual({ pinned })
  expect(changedFields({ fields: one }, { pinned: null, reactions: null })).toBeNull()
})
