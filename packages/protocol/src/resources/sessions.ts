import { int32, int64, object, optional, type Static, stringEnum, text } from '../schema.js'

/** Data of session.open. It has no title, since the OpenAPI document does not describe the gateway. */
export const OpenedSession = object({
  session_id: int64({
    description: 'session ID; of two sessions of a device the greater one stays',
  }),
  user_id: int64({ description: 'user ID' }),
  device_sn: optional(
    int32({ description: 'device serial number; absent: the session has no device' }),
  ),
  epoch: text('history of the database; with another one the client drops its store'),
  pos: optional(text('where the client stands; only with sync current')),
  server_time: int64({ description: 'milliseconds since 1970' }),
  ping_ms: int32({ description: 'interval of heartbeats, milliseconds' }),
  max_frame: int32({ description: 'most bytes of a frame' }),
  max_in_flight: int32({ description: 'calls that run at once' }),
  transaction_ttl_ms: int64({
    description: 'how long the service remembers a transaction_id, milliseconds',
  }),
  sync: stringEnum(['current', 'needed', 'reset'], {
    description:
      'current: nothing is missing up to pos; needed: sync from the own pos; reset: drop the store, then sync',
  }),
})
/** An opened session. */
export type OpenedSession = Static<typeof OpenedSession>
