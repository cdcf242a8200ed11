import type { GatewayCertificate } from '../../certificate.js'
import type { PushTarget } from '../../port.js'
import { sendUrl } from '../runtime/protocol.js'

/**
 * Hosts of the vendor. A sender of 2026-08 quotes its documents with api-push-cn.heytapmobi.com for
 * China; all others use the host below, which works. `send_url` chooses the other one.
 */
const hosts = {
  domestic: 'https://api.push.oppomobile.com',
  abroad: 'https://api-intl.push.oppomobile.com',
}

/** The gateway that serves a device. */
export type Region = keyof typeof hosts

/** China: the token has one part, or CN as the first of two or the second of three parts. */
export function regionOf({ token }: PushTarget): Region {
  const parts = token.split('_')
  const isDomestic =
    parts.length === 1 ||
    (parts.length === 2 && parts[0] === 'CN') ||
    (parts.length === 3 && parts[1] === 'CN')
  return isDomestic ? 'domestic' : 'abroad'
}

/** Returns the origin for devices of a region. */
export function regionUrl(certificate: GatewayCertificate, region: string): string {
  return sendUrl(certificate, region === 'abroad' ? hosts.abroad : hosts.domestic)
}
