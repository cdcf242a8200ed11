import {
  createAdminToken,
  createApplication,
  listAdminTokens,
  listApplications,
  revokeAdminToken,
  updateApplication,
} from '@hermod/protocol'
import type { Application } from '../../domain/applications/application-model.js'
import type { ApplicationService } from '../../domain/applications/application-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function applicationHandlers({
  applications,
}: {
  readonly applications: ApplicationService
}): Handler[] {
  return [
    handle(createApplication, async ({ app_id, name }) => {
      const { application, adminToken } = await applications.create(app_id, name)
      return data({ app_id: application.appId, name: application.name, admin_token: adminToken })
    }),
    handle(listApplications, async () => data((await applications.list()).map(toApplication))),
    handle(updateApplication, async ({ app_id, ...changes }) => {
      const {
        open_registration: openRegistration,
        registration_secret: registrationSecret,
        ...others
      } = changes
      await applications.update(app_id, { ...others, openRegistration, registrationSecret })
      return data(toApplication(await applications.get(app_id)))
    }),
    handle(createAdminToken, async ({ app_id, name, expires_at: expiresAt = 0 }) => {
      const { token, secret } = await applications.createAdminToken(
        app_id,
        name,
        expiresAt === 0 ? null : Number(expiresAt),
      )
      return data({
        token_id: token.tokenId,
        app_id,
        name,
        token: secret,
        expires_at: token.expiresAt ?? 0,
      })
    }),
    handle(listAdminTokens, async ({ app_id }) => {
      const tokens = await applications.listAdminTokens(app_id)
      return data(
        tokens.map((token) => ({
          token_id: token.tokenId,
          app_id: token.appId,
          name: token.name,
          created_at: token.createdAt,
          expires_at: token.expiresAt ?? 0,
          revoked_at: token.revokedAt ?? 0,
        })),
      )
    }),
    handle(revokeAdminToken, async ({ app_id, token_id }) => {
      await applications.revokeAdminToken(app_id, token_id)
      return data(true)
    }),
  ]
}

function toApplication(application: Application) {
  return {
    app_id: application.appId,
    name: application.name,
    status: application.status,
    open_registration: application.openRegistration,
    has_registration_secret: application.registrationSecret !== '',
    settings: application.settings,
    created_at: application.createdAt,
  }
}
