import type { TokenRecord } from '@hermod/protocol'
import type { IssuedToken } from '../../domain/login/token-service.js'

/** encrypt_type and public_key belong to a connection protocol of other servers; this one uses TLS. */
export function toTokenRecord(issued: IssuedToken): TokenRecord {
  return {
    access_key_secret: issued.accessKeySecret,
    encrypt_type: 0,
    expire: issued.expiresAt,
    public_key: '',
    store_token: issued.storeToken,
    token: issued.token,
    user_id: issued.userId,
    ...(issued.pushToken === undefined ? {} : { push_token: issued.pushToken }),
  }
}
