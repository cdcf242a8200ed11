import { authMode, contactRequestStatus, meaningsOf, relation } from '../enums.js'
import { array, boolean, int64, intEnum, type Static, text } from '../schema.js'
import { instant, resource } from './fields.js'

export const RosterEntry = resource('RosterEntry', 'A user as another user sees him.', {
  alias: text('remark name the caller gave this user'),
  auth_mode: intEnum(meaningsOf(authMode), { description: 'friend-add verification of that user' }),
  auth_question: text('verification question of that user (the answer is never returned)'),
  avatar: text('avatar URL or stored object name'),
  description: text('description'),
  ext: text('extension data the caller stored on this contact'),
  mute_notification: boolean({
    description: 'true: the caller silenced message notifications of this contact',
  }),
  nick_name: text('nickname'),
  public_info: text('public extension information'),
  relation: intEnum(meaningsOf(relation)),
  user_id: int64({ description: 'user ID of that user' }),
  username: text('username'),
})
export type RosterEntry = Static<typeof RosterEntry>

export const RosterApplication = resource('RosterApplication', 'A wish to become a contact.', {
  expired_time: instant('when the application expires'),
  reason: text('text given by the applicant'),
  status: intEnum(meaningsOf(contactRequestStatus)),
  user_id: int64({ description: 'applicant' }),
})
export type RosterApplication = Static<typeof RosterApplication>

export const RosterApplicationFailure = resource(
  'RosterApplicationFailure',
  'An application that did not go through.',
  {
    user_id: int64({ description: 'user ID' }),
    reason: text('cause of failure'),
  },
)
export type RosterApplicationFailure = Static<typeof RosterApplicationFailure>

export const RosterBatchResult = resource(
  'RosterBatchResult',
  'What became of several contact applications.',
  {
    success: array(int64(), { description: 'users for whom the application went through' }),
    fails: array(RosterApplicationFailure, { description: 'users for whom it did not' }),
  },
)
export type RosterBatchResult = Static<typeof RosterBatchResult>

export const RosterName = resource('RosterName', 'A contact and its name.', {
  user_id: int64({ description: 'user ID' }),
  name: text('nickname, else username'),
})
export type RosterName = Static<typeof RosterName>
