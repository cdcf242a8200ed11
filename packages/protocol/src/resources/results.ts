import { itemOutcomes } from '../enums.js'
import { array, boolean, int64, optional, type Static, stringEnum, text } from '../schema.js'
import { resource } from './fields.js'

export const itemResultFields = {
  user_id: int64({ description: 'user the item refers to; 0 when there is none' }),
  success: boolean({ description: 'success or not' }),
  reason: optional(text('cause of failure; absent on success')),
}

export const ItemResult = resource(
  'ItemResult',
  'What became of one entry of a batch.',
  itemResultFields,
)
export type ItemResult = Static<typeof ItemResult>

export const outcomeFields = {
  result: stringEnum(itemOutcomes, { description: 'success or fail' }),
  reason: optional(text('error message; absent on success')),
}

export const UserResult = resource('UserResult', 'What became of one user of a group operation.', {
  user_id: int64({ description: 'user ID' }),
  ...outcomeFields,
})
export type UserResult = Static<typeof UserResult>

export const UserResults = resource(
  'UserResults',
  'What became of the users of a group operation.',
  {
    list: array(UserResult, { description: 'one entry per user' }),
  },
)
export type UserResults = Static<typeof UserResults>

export const Nothing = resource('Nothing', 'An object without members.', {})
export type Nothing = Static<typeof Nothing>
