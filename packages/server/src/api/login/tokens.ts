import {
  issueTokenById,
  issueTokenByLogin,
  issueTokenByUsername,
  type TokenRecord,
} from '@hermod/protocol'
import type { IssuedToken, LoginName, TokenService } from '../../domain/login/token-service.js'
import { type CallContext, data, type Handler, handle } from '../../pipeline/call.js'

interface LoginParams {
  readonly password: string
  readonly device_guid?: string
}

export function tokenHandlers({ tokens }: { readonly tokens: TokenService }): Handler[] {
  const logIn = async (
    name: LoginName,
    { password, device_guid }: LoginParams,
    { principal, userAgent, address }: CallContext<'anyone'>,
  ) => {
    const device = device_guid ? { deviceGuid: device_guid } : {}
    // An app server logs in users from many places, so its address does not identify a guessing client.
    const from = { userAgent, address: principal.kind === 'admin' ? null : address }
    return data(
      toRecord(await tokens.logIn({ appId: principal.appId, name, password, ...from, ...device })),
    )
  }
  return [
    handle(issueTokenById, (params, context) => logIn({ userId: params.user_id }, params, context)),
    handle(issueTokenByLogin, (params, context) =>
      logIn({ loginName: params.login_name }, params, context),
    ),
    handle(issueTokenByUsername, (params, context) =>
      logIn({ username: params.name }, params, context),
    ),
  ]
}

/** encrypt_type and public_key belong to a connection protocol of other servers; this one uses TLS. */
function toRecord(issued: IssuedToken): TokenRecord {
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
