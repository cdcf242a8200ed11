import { int32, int64, optional, type Static, text } from '../schema.js'
import { instant, resource } from './fields.js'

export const TokenRecord = resource('TokenRecord', 'What a login gives.', {
  access_key_secret: text('file key'),
  encrypt_type: int32({ description: 'whether encrypted connection is enabled' }),
  expire: instant('expiration timestamp'),
  public_key: text('public key'),
  push_token: optional(text('push token; returned when device_guid was sent')),
  store_token: text('file token'),
  token: text('access token; the value to send later in the access-token header'),
  user_id: int64({ description: 'user ID' }),
})
export type TokenRecord = Static<typeof TokenRecord>
