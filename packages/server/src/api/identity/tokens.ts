import { exchangeToken, issueToken, type ParamsOf, revokeTokens } from '@hermod/protocol'
import type { ExchangeService } from '../../domain/identity/exchange/exchange-service.js'
import type { IssueService, IssueTarget } from '../../domain/identity/issue-service.js'
import { definedOnly } from '../../lib/defined-only.js'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'
import { toTokenRecord } from '../login/token-record.js'

type IssueParams = ParamsOf<typeof issueToken>

export function issueHandlers({
  exchanges,
  issues,
}: {
  readonly exchanges: ExchangeService
  readonly issues: IssueService
}): Handler[] {
  return [
    handle(exchangeToken, async ({ assertion, ...params }, { principal, userAgent, address }) => {
      const { token, created } = await exchanges.exchange({
        appId: principal.appId,
        assertion,
        device: deviceOf({ ...params, user_agent: userAgent }),
        address,
      })
      return { data: toTokenRecord(token), extras: { created } }
    }),
    handle(issueToken, async (params, { principal: { appId } }) => {
      const { token, created } = await issues.issue({
        appId,
        target: targetOf(params),
        device: deviceOf(params),
        lifeSeconds: params.expires_in,
        create: params.create === undefined ? null : toUser(params.create),
      })
      return { data: toTokenRecord(token), extras: { created } }
    }),
    handle(revokeTokens, ({ device_sn, ...params }, { principal }) =>
      whenDone(issues.revoke(principal.appId, targetOf(params), device_sn)),
    ),
  ]
}

/** The definition requires exactly one name. */
function targetOf({
  user_id: userId,
  name: username,
  issuer = '',
  subject = '',
}: Pick<IssueParams, 'user_id' | 'name' | 'issuer' | 'subject'>): IssueTarget {
  if (userId !== undefined) return { userId }
  return username === undefined ? { issuer, subject } : { username }
}

function deviceOf({
  device_guid: deviceGuid,
  platform,
  user_agent,
}: Pick<IssueParams, 'device_guid' | 'platform' | 'user_agent'>) {
  return deviceGuid
    ? { deviceGuid, userAgent: user_agent ?? null, ...definedOnly({ platform }) }
    : undefined
}

function toUser(create: NonNullable<IssueParams['create']>) {
  const { username, nick_name: nickName, avatar, is_bot: isBot = false } = create
  return { username, usernameIs: 'given', nickName, avatar, isBot } as const
}
