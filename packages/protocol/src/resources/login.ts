import { instant, resource } from '../resource.js'
import { int32, int64, optional, type Static, text } from '../schema.js'

/**
 * Token record of the contract. `expire` in ms (rule B6); public_key and encrypt_type are fixed, as
 * only the long connection uses them.
 */
export const TokenRecord = resource('TokenRecord', 'The tokens and credentials of a login.', {
  access_key_secret: text('file key'),
  encrypt_type: int32({ description: 'whether encrypted connection is enabled' }),
  expire: instant('expiration timestamp'),
  public_key: text('public key'),
  push_token: optional(text('push token; returned when device_guid was sent')),
  store_token: text('file token'),
  token: text('access token; the value to send later in the access-token header'),
  user_id: int64({ description: 'user ID' }),
})
/** Result of a login; push_token is absent without device_guid (rule A6). */
export type TokenRecord = Static<typeof TokenRecord>
