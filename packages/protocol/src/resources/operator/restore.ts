import { instant, resource } from '../../resource.js'
import { array, boolean, int64, type Static, text } from '../../schema.js'

/** Events for the endpoints of an application. */
const UnsentEvents = resource('UnsentEvents', 'Events that endpoints have not got.', {
  app_id: text('application'),
  count: int64({
    description: 'positions of the log after those of its endpoints, and waiting events',
  }),
  oldest_at: instant('when the oldest was committed; 0: not known'),
})

const statusFields = {
  restored: boolean({ description: 'true: the restore is not finished, so users are refused' }),
  newest_msg_id: int64({ description: 'the newest message; 0: there is none' }),
  newest_message_at: instant('when it was sent; whatever happened later is unknown'),
  webhook_events: array(UnsentEvents, { description: 'events that are sent to webhooks' }),
  pushes: int64({ description: 'pushes that are not sent as a whole' }),
  oldest_push_at: instant('when the oldest of them was made; 0: there is none'),
  user_tokens: int64({
    description: 'tokens of users that are valid, also those that ended after the backup',
  }),
  admin_tokens: int64({
    description: 'Admin tokens that are valid, also those that were revoked after the backup',
  }),
}

/** Data of /operator/v1/restore/status. */
export const RestoreStatus = resource(
  'RestoreStatus',
  'The data of a restored service, and what it sends once the restore is finished.',
  statusFields,
)
/** Restored data. */
export type RestoreStatus = Static<typeof RestoreStatus>

/** Data of /operator/v1/restore/finish. */
export const FinishedRestore = resource('FinishedRestore', 'The end of a restore.', {
  ...statusFields,
  ended_message_pushes: int64({
    description: 'pushes of messages older than five minutes, which are not sent',
  }),
  ended_core_pushes: int64({ description: 'pushes to connected devices, which are not sent' }),
  ended_user_tokens: int64({ description: 'tokens of users that were ended' }),
  repeated_erasures: int64({ description: 'users that were erased again' }),
  unreadable_erasures: int64({
    description: 'lines of erasures.ndjson that are damaged; their users were not erased again',
  }),
})
/** The end of a restore. */
export type FinishedRestore = Static<typeof FinishedRestore>
