/** What people are shown of the simulator. */
import type { PushSimulator } from './gateways.js'
import type { GatewayReply } from './model.js'
import { scriptNames, scripts } from './scripts.js'

/** Places and credentials of all gateways in the words of push certificates, and the scripts. */
export function describeSimulator({ gateways, authority }: PushSimulator) {
  return {
    gateways: Object.values(gateways).map(({ channel, url, certificate }) => ({
      channel,
      gateway_app_id: certificate.appId,
      app_key: certificate.appKey,
      app_secret: certificate.appSecret,
      certificate: certificate.certificate,
      package_name: certificate.packageName ?? '',
      send_url: url,
      auth_url: certificate.endpoint.authUrl ?? '',
    })),
    ca: authority.ca,
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

/** Status and body of an answer in one line, or what was done in its place. */
export function replyText(reply: GatewayReply): string {
  if (typeof reply === 'string')
    return { silence: 'no answer', cut: 'connection cut', goaway: 'GOAWAY' }[reply]
  return reply.body === null
    ? String(reply.status)
    : `${reply.status} ${JSON.stringify(reply.body)}`
}
