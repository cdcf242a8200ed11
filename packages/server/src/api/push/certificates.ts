import { getPushCertificate, meaningsOf, pushEnvironment, pushProvider } from '@hermod/protocol'
import type { CertificateService } from '../../domain/push/certificates/certificate-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

const channels = meaningsOf(pushProvider)
const environments = meaningsOf(pushEnvironment)

export function pushCertificateHandlers({
  pushCertificates,
}: {
  readonly pushCertificates: CertificateService
}): Handler[] {
  return [
    handle(
      getPushCertificate,
      async ({ provider, environment = pushEnvironment.production }, { principal }) => {
        const { name, gateway } = await pushCertificates.first(principal.appId, {
          channel: channels[provider],
          environment: environments[environment],
        })
        const { appId, appKey, appSecret, certificate } = gateway
        const secrets = principal.isAdminToken
          ? { app_secret: appSecret, certificate }
          : { app_secret: '', certificate: '' }
        return data({ app_id: appId, app_key: appKey, ...secrets, name })
      },
    ),
  ]
}
