import { issueTokenById, issueTokenByLogin, issueTokenByUsername } from '@hermod/protocol'
import type { LoginName, LoginService } from '../../domain/login/login-service.js'
import { type CallContext, data, type Handler, handle } from '../../pipeline/call.js'
import { toTokenRecord } from './token-record.js'

interface LoginParams {
  readonly password: string
  readonly device_guid?: string
}

export function tokenHandlers({ logins }: { readonly logins: LoginService }): Handler[] {
  const logIn = async (
    name: LoginName,
    { password, device_guid }: LoginParams,
    { principal, userAgent, address }: CallContext<'anyone'>,
  ) => {
    const device = device_guid ? { deviceGuid: device_guid } : {}
    // An app server logs in users from many places, so its address does not identify a guessing client.
    const from = { userAgent, address: principal.kind === 'admin' ? null : address }
    const { appId } = principal
    return data(toTokenRecord(await logins.logIn({ appId, name, password, ...from, ...device })))
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
