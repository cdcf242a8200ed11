import {
  type AdminToken,
  createAdminToken,
  createApp,
  listAdminTokens,
  listApps,
  revokeAdminToken,
  scopesOf,
  updateAdminToken,
  updateApp,
} from '@hermod/protocol'
import type { App, StoredAdminToken } from '../../domain/apps/app-model.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function appHandlers({ apps }: { readonly apps: AppService }): Handler[] {
  return [
    handle(createApp, async ({ app_id, name }) => {
      const { app, adminToken } = await apps.create(app_id, name)
      return data({ app_id: app.appId, name: app.name, admin_token: adminToken })
    }),
    handle(listApps, async () => data((await apps.list()).map(toAppResource))),
    handle(updateApp, async ({ app_id, ...changes }) => {
      const {
        open_registration: openRegistration,
        registration_secret: registrationSecret,
        ...others
      } = changes
      await apps.update(app_id, { ...others, openRegistration, registrationSecret })
      return data(toAppResource(await apps.get(app_id)))
    }),
    handle(
      createAdminToken,
      async ({ app_id, name, expires_at: expiresAt = 0, scopes = ['all'] }) => {
        const { token, secret } = await apps.createAdminToken(app_id, {
          name,
          expiresAt: expiresAt === 0 ? null : Number(expiresAt),
          scopes: scopesOf(scopes),
        })
        const { created_at: _, revoked_at: __, ...shown } = toAdminTokenResource(token)
        return data({ ...shown, token: secret })
      },
    ),
    handle(updateAdminToken, async ({ app_id, token_id, scopes }) =>
      data(
        toAdminTokenResource(await apps.setAdminTokenScopes(app_id, token_id, scopesOf(scopes))),
      ),
    ),
    handle(listAdminTokens, async ({ app_id }) =>
      data((await apps.listAdminTokens(app_id)).map(toAdminTokenResource)),
    ),
    handle(revokeAdminToken, ({ app_id, token_id }) =>
      whenDone(apps.revokeAdminToken(app_id, token_id)),
    ),
  ]
}

function toAdminTokenResource(token: StoredAdminToken) {
  return {
    token_id: token.tokenId,
    app_id: token.appId,
    name: token.name,
    scopes: (token.scopes === null ? ['all'] : [...token.scopes]) as AdminToken['scopes'],
    created_at: token.createdAt,
    expires_at: token.expiresAt ?? 0,
    revoked_at: token.revokedAt ?? 0,
  }
}

function toAppResource(app: App) {
  return {
    app_id: app.appId,
    name: app.name,
    status: app.status,
    open_registration: app.openRegistration,
    has_registration_secret: app.sealedRegistrationSecret !== '',
    settings: app.settings,
    created_at: app.createdAt,
  }
}
