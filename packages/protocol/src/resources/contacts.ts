import { authMode, contactRequestStatus, meaningsOf, relation } from '../enums.js'
import { instant, resource } from '../resource.js'
import { array, boolean, int64, intEnum, type Static, text } from '../schema.js'

/**
 * Roster entry: alias, ext, mute_notification and relation are the caller's own view. Never with
 * private_info, e-mail or mobile number.
 */
export const RosterEntry = resource('RosterEntry', 'A user as the caller sees them.', {
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
  is_bot: boolean({ description: 'true: a program' }),
})
/** Another user, or the caller, from the caller's view. */
export type RosterEntry = Static<typeof RosterEntry>

/** A contact request that the caller received. */
export const RosterApplication = resource('RosterApplication', 'A request to become a contact.', {
  expired_time: instant('when the request expires'),
  reason: text('text given by the applicant'),
  status: intEnum(meaningsOf(contactRequestStatus)),
  user_id: int64({ description: 'applicant' }),
})
/** A contact request; expired_time in ms, also of handled ones. */
export type RosterApplication = Static<typeof RosterApplication>

/** Reason why one request of a batch was refused. */
export const RosterApplicationFailure = resource(
  'RosterApplicationFailure',
  'A contact request that did not go through.',
  {
    user_id: int64({ description: 'user ID' }),
    reason: text('cause of failure'),
  },
)
/** The refusal of one user. */
export type RosterApplicationFailure = Static<typeof RosterApplicationFailure>

/**
 * Results of several contact requests: every user of the batch is in exactly one of the two lists.
 */
export const RosterBatchResult = resource(
  'RosterBatchResult',
  'The results of several contact requests.',
  {
    success: array(int64(), { description: 'users with a successful request' }),
    fails: array(RosterApplicationFailure, { description: 'users with a refused request' }),
  },
)
/** The outcome of a batch of contact requests, each list in the order of the batch. */
export type RosterBatchResult = Static<typeof RosterBatchResult>

/** An entry of /user/rosters. */
export const RosterName = resource('RosterName', 'A contact and its name.', {
  user_id: int64({ description: 'user ID' }),
  name: text('nickname, else username'),
})
/** A contact by name. */
export type RosterName = Static<typeof RosterName>
