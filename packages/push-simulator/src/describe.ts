/** Descriptions of the simulator for users. */
import type { SimulatedCertificate } from './gateway.js'
import type { PushSimulator } from './gateways.js'
import type { GatewayReply } from './model.js'
import { scriptNames, scripts } from './scripts.js'

/**
 * Returns a certificate as parameters of the operation that sets it, without name, environment and
 * application.
 */
export function certificateFields({ channel, endpoint, ...credentials }: SimulatedCertificate) {
  return {
    channel,
    gateway_app_id: credentials.appId,
    app_key: credentials.appKey,
    app_secret: credentials.appSecret,
    certificate: credentials.certificate,
    package_name: credentials.packageName ?? '',
    send_url: endpoint.sendUrl,
    auth_url: endpoint.authUrl ?? '',
    ca: endpoint.ca,
  }
}

/** Describes endpoints and credentials of all gateways as push certificates, and the scripts. */
export function describeSimulator({ gateways, authority }: PushSimulator) {
  return {
    gateways: Object.values(gateways).map(({ certificate }) => certificateFields(certificate)),
    ca: authority.ca,
    vendor_h_account: gateways.vendor_h.account,
    scripts: scriptNames
      .filter((script) => script !== 'accept')
      .map((script) => ({
        script,
        prefix: scripts[script].prefix,
        ios_prefix: scripts[script].iosPrefix,
        meaning: scripts[script].meaning,
      })),
  }
}

/** Returns status and body of an answer in one line, or the action that replaced it. */
export function replyText(reply: GatewayReply): string {
  if (typeof reply === 'string')
    return { silence: 'no answer', cut: 'connection cut', goaway: 'GOAWAY' }[reply]
  return reply.body === null
    ? String(reply.status)
    : `${reply.status} ${JSON.stringify(reply.body)}`
}
