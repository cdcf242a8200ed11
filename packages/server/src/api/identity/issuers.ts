import {
  assertionAlgorithms,
  listIdentityIssuers,
  type ParamsOf,
  removeIdentityIssuer,
  renameIdentityIssuer,
  setIdentityIssuer,
  testAssertion,
} from '@hermod/protocol'
import type { AssertionTestService } from '../../domain/identity/exchange/assertion-test-service.js'
import type {
  GivenKeys,
  IssuerAdminService,
  IssuerSummary,
} from '../../domain/identity/issuers/issuer-admin-service.js'
import type { IssuerSettings } from '../../domain/identity/issuers/issuer-model.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

type SetParams = ParamsOf<typeof setIdentityIssuer>

export function issuerHandlers({
  issuerAdmin,
  assertionTests,
}: {
  readonly issuerAdmin: IssuerAdminService
  readonly assertionTests: AssertionTestService
}): Handler[] {
  return [
    handle(setIdentityIssuer, async ({ app_id: appId, issuer, ...params }) =>
      data(
        toResource(await issuerAdmin.set({ appId, issuer }, toKeys(params), toSettings(params))),
      ),
    ),
    handle(listIdentityIssuers, async ({ app_id }) =>
      data((await issuerAdmin.list(app_id)).map(toResource)),
    ),
    handle(removeIdentityIssuer, ({ app_id: appId, issuer }) =>
      whenDone(issuerAdmin.remove({ appId, issuer })),
    ),
    handle(renameIdentityIssuer, ({ app_id: appId, issuer, new_issuer }) =>
      whenDone(issuerAdmin.rename({ appId, issuer }, new_issuer)),
    ),
    handle(testAssertion, async ({ app_id, assertion }) => {
      const tested = await assertionTests.test(app_id, assertion)
      return data({
        ok: tested.isOk,
        reason: tested.reason,
        text: tested.text,
        issuer: tested.issuer,
        subject: tested.subject,
        user_id: tested.userId,
        created: tested.created,
        username: tested.username,
        email: tested.email,
        nick_name: tested.nickName,
        avatar: tested.avatar,
        expire: tested.expiresAt,
      })
    }),
  ]
}

function toKeys(params: Omit<SetParams, 'app_id' | 'issuer'>): GivenKeys {
  return {
    discovery: params.discovery,
    jwksUrl: params.jwks_url,
    jwks: params.jwks,
    pem: params.pem,
    hmacSecret: params.hmac_secret,
    previousHmacSecret: params.previous_hmac_secret,
  }
}

function toSettings(params: Omit<SetParams, 'app_id' | 'issuer'>): Omit<IssuerSettings, 'keys'> {
  const { nick_name: nickNameClaim = '', avatar: avatarClaim = '' } = params.profile_claims ?? {}
  const algorithms = params.algorithms ?? assertionAlgorithms
  return {
    algorithms: params.hmac_secret === undefined ? algorithms : ['HS256'],
    types: params.types ?? [],
    audience: params.audience ?? [],
    maxAge: params.max_age ?? 600,
    subjectClaim: params.subject_claim ?? 'sub',
    create: params.create ?? 'never',
    usernameClaim: params.username_claim ?? '',
    nickNameClaim,
    avatarClaim,
    session: params.session ?? 'own',
  }
}

function toResource({ issuer: { issuer, settings, ...stored }, hasPreviousSecret }: IssuerSummary) {
  const { keys } = settings
  return {
    issuer,
    source: keys.kind,
    url: 'url' in keys ? keys.url : '',
    jwks: 'jwks' in keys ? { ...keys.jwks } : {},
    has_previous_secret: hasPreviousSecret,
    algorithms: [...settings.algorithms] as ('HS256' | (typeof assertionAlgorithms)[number])[],
    types: [...settings.types],
    audience: [...settings.audience],
    max_age: settings.maxAge,
    subject_claim: settings.subjectClaim,
    create: settings.create,
    username_claim: settings.usernameClaim,
    profile_claims: { nick_name: settings.nickNameClaim, avatar: settings.avatarClaim },
    session: settings.session,
    created_at: stored.createdAt,
    updated_at: stored.updatedAt,
  }
}
