/** Through which channel a push reaches a device (rule G2). */
import { compare } from '../../../lib/compare.js'
import type { VendorChannel } from '../../../push/sender.js'
import type { PushCertificateEntry } from '../certificates/certificate-model.js'
import type { DistributionStrategy, Suppression } from '../tasks/task-model.js'

/** `ups` in ospush_sequence: the handset vendors, in this order. */
export const handsetVendors = [
  'vendor_h',
  'vendor_n',
  'vendor_x',
  'vendor_o',
  'vendor_v',
  'vendor_f',
] as const satisfies readonly VendorChannel[]

const defaultSequence = ['ups', 'cloud_gw'] as const

/**
 * The channels that ospush_sequence stands for, each once. ios_gw has no name there and is always first: its devices are bound to no
 * other channel.
 */
export function sequenceOf(names: readonly ('ups' | VendorChannel)[] = []): VendorChannel[] {
  const named = names.length > 0 ? names : defaultSequence
  const channels = named.flatMap((name) => (name === 'ups' ? handsetVendors : [name]))
  return [...new Set<VendorChannel>(['ios_gw', ...channels])]
}

/** A device's token at a gateway. */
export interface DeviceBinding {
  /** Name of the certificate. */
  readonly notifierName: string
  readonly deviceToken: string
  /** Milliseconds since 1970. */
  readonly boundAt: number
  /** The device is out of reach until then, milliseconds since 1970; 0: it is not. */
  readonly pausedUntil: number
}

/** What of a certificate the choice needs. */
export interface UsableCertificate extends Pick<PushCertificateEntry, 'certificateId' | 'name'> {
  readonly gateway: Pick<PushCertificateEntry['gateway'], 'channel'>
}

/** A way to a device. */
export interface VendorWay {
  readonly certificate: UsableCertificate
  readonly binding: DeviceBinding
}

/** What the choice is made from. */
export interface ChoiceFacts {
  readonly strategy: DistributionStrategy
  readonly sequence: readonly VendorChannel[]
  readonly isConnected: boolean
  readonly bindings: readonly DeviceBinding[]
  /** By name. */
  readonly certificates: ReadonlyMap<string, UsableCertificate>
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The channel of a device, or why there is none. */
export type ChannelChoice =
  | { readonly kind: 'core' }
  | ({ readonly kind: 'vendor' } & VendorWay)
  | { readonly kind: 'none'; readonly reason: Suppression }

/** The channel that a device is told through first. */
export function chooseChannel(facts: ChoiceFacts): ChannelChoice {
  const { strategy, isConnected } = facts
  if (strategy !== 'ospush_only' && isConnected) return { kind: 'core' }
  if (strategy === 'corepush_only') return { kind: 'none', reason: 'not_connected' }
  const [first] = vendorWays(facts)
  if (first) return { kind: 'vendor', ...first }
  return { kind: 'none', reason: whyNoVendor(facts) }
}

/** The ways of the sequence to a device that can be used now, in order. */
export function vendorWays({ sequence, bindings, certificates, now }: ChoiceFacts): VendorWay[] {
  const ways = bindings.flatMap((binding): VendorWay[] => {
    const certificate = certificates.get(binding.notifierName)
    const isUsable =
      certificate && sequence.includes(certificate.gateway.channel) && binding.pausedUntil <= now
    return isUsable ? [{ certificate, binding }] : []
  })
  return ways.sort((a, b) => compareWays(sequence, a.certificate, b.certificate))
}

/** Whether a certificate comes later in the sequence than another one. */
export function compareWays(
  sequence: readonly VendorChannel[],
  a: UsableCertificate,
  b: UsableCertificate,
): number {
  const place = ({ gateway }: UsableCertificate) => sequence.indexOf(gateway.channel)
  return place(a) - place(b) || compare(a.certificateId, b.certificateId)
}

function whyNoVendor({ sequence, bindings, certificates }: ChoiceFacts): Suppression {
  if (bindings.length === 0) return 'not_connected'
  const known = bindings.flatMap(({ notifierName }) => certificates.get(notifierName) ?? [])
  if (known.length === 0) return 'no_certificate'
  const isInSequence = known.some(({ gateway }) => sequence.includes(gateway.channel))
  return isInSequence ? 'device_paused' : 'no_channel_of_the_sequence'
}
