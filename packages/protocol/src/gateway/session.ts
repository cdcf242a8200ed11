/** `session.open`, the first call of a connection. */
import type { ErrorName } from '../errors.js'
import { meaningsOf, platform } from '../enums.js'
import { featureNames } from '../features.js'
import {
  array,
  int32,
  int64,
  intEnum,
  list,
  object,
  optional,
  type Static,
  string,
  stringEnum,
  text,
} from '../schema.js'

/** The op of the first call; it is no operation, since it makes the caller of all others. */
export const sessionOpenOp = 'session.open'

/** Parameters of {@link sessionOpenOp}. */
export const sessionOpenParameters = {
  app_id: string({ description: 'the application', minLength: 1, maxLength: 32 }),
  access_token: string({
    description: 'a user token, or an Admin token together with user_id',
    minLength: 1,
    maxLength: 512,
  }),
  device_guid: optional(
    string({
      description:
        'stable text that names the installation; absent: the device of the token, if it has one; "": no device. A session without a device displaces none, is not online and gets no push',
      maxLength: 128,
    }),
  ),
  platform: optional(
    intEnum(meaningsOf(platform), { description: 'platform of the device; absent: unchanged' }),
  ),
  user_agent: optional(
    string({
      description: 'device information, as the list of devices shows it; absent: unchanged',
      maxLength: 1024,
    }),
  ),
  user_id: optional(int64({ description: 'with an Admin token: the user of the session' })),
  pos: optional(
    string({
      description: 'pos that the client has kept; absent or "": none',
      maxLength: 128,
    }),
  ),
  sdk: optional(
    string({ description: 'name and version of the client library, for the log', maxLength: 128 }),
  ),
  features: optional(
    list(string({ maxLength: 64 }), {
      description: `additions to the contract that the client knows, such as ${featureNames[0]}; others than those of the service are ignored; absent: none`,
      maxItems: 50,
    }),
  ),
}

/** States of a client that has opened a session: nothing missed, to sync, or to start anew. */
export const syncStates = ['current', 'needed', 'reset'] as const

/** `data` of a successful answer to {@link sessionOpenOp}. */
export const sessionOpenData = object({
  session_id: int64({ description: 'of two sessions of a device the greater one stays' }),
  user_id: int64(),
  device_sn: optional(int32({ description: 'device of the session; absent without one' })),
  epoch: text('ID of the history of the database; another one: drop the store and sync anew'),
  pos: optional(text('present with sync "current": the client has everything up to it')),
  server_time: int64({ description: 'milliseconds since 1970' }),
  token_expires_at: optional(
    int64({
      description:
        'end of the user token, milliseconds since 1970; the session is closed with 4003 then; absent with an Admin token',
    }),
  ),
  ping_ms: int32({ description: 'interval of heartbeats' }),
  max_frame: int32({ description: 'longest frame that a client may send, in bytes' }),
  max_in_flight: int32({ description: 'calls that run side by side; further ones wait' }),
  transaction_ttl_ms: int64({
    description: 'time for which a repeat with the same transaction_id answers the first result',
  }),
  sync: stringEnum(syncStates, {
    description:
      'current: nothing was missed; needed: call message.sync; reset: drop the store, then call message.sync without a pos',
  }),
  features: array(text('name of one'), {
    description: 'additions to the contract that the service has',
  }),
})

/** Parameters of {@link sessionOpenOp}, decoded. */
export type SessionOpenParameters = Static<ReturnType<typeof object<typeof sessionOpenParameters>>>
/** `data` of a successful answer to {@link sessionOpenOp}. */
export type SessionOpenData = Static<typeof sessionOpenData>

/** Errors of {@link sessionOpenOp}; after each the server closes the connection. */
export const sessionOpenErrors = [
  'invalid_parameter',
  'token_expired',
  'token_invalid',
  'app_not_found',
  'app_inactive',
  'too_many_requests',
] as const satisfies readonly ErrorName[]
