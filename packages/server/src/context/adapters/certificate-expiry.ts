import type { ExpiryObserver } from '../../domain/push/certificates/certificate-expiry.js'
import type { ExpiringCertificate } from '../../domain/push/certificates/certificate-model.js'
import type { Logger } from '../../observability/log.js'

/** Logs one line a day for each certificate. */
export function expiryObserver(log: Logger): ExpiryObserver {
  return {
    expiresSoon: (certificate, days) =>
      log.warn({ ...fields(certificate), days }, 'push certificate expires soon'),
    expired: (certificate) => log.error(fields(certificate), 'push certificate has expired'),
  }
}

function fields({ appId: app, name: certificate, channel, expiresAt }: ExpiringCertificate) {
  return { app, certificate, channel, expiresAt: new Date(expiresAt).toISOString() }
}
