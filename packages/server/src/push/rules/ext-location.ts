/** The place of the members of `ext` in the messages of each channel, for the trace. */
import type { PushChannel } from '@hermod/protocol'
import type { GatewayCertificate } from '../certificate.js'
import type { PushNotification } from '../notification.js'

const places: Readonly<Record<PushChannel, string>> = {
  core: 'ext of the event',
  ios_gw: 'the payload, next to aps',
  cloud_gw: 'data, as text values',
  vendor_h: 'data, as a JSON text',
  vendor_x: 'payload, as a JSON text',
  vendor_f: 'parameters, as text values',
  vendor_v: 'clientCustomMap, as text values',
  vendor_o: 'action_parameters, as a JSON text',
  vendor_n: 'data, as a JSON text',
}

/**
 * Returns the place as words that follow "in".
 * @param certificate with which the message was sent; undefined: it was removed since, or none
 * @returns null when the message has no place for `ext`
 */
export function extLocation(
  channel: PushChannel,
  kind: PushNotification['kind'],
  certificate: Pick<GatewayCertificate, 'apiVersion' | 'pushType'> = {},
): string | null {
  if (certificate.pushType?.startsWith('liveactivity')) return null
  if (channel === 'vendor_h' && certificate.apiVersion === 3)
    return kind === 'cmd' ? 'extraData, as a JSON text' : 'data of clickAction'
  if (channel === 'vendor_f' && kind === 'cmd') return 'content, as a JSON text'
  return places[channel]
}
