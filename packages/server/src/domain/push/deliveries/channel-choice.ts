/** Through which channel a push reaches a device (rule G2). */
import { compare } from '../../../lib/compare.js'
import { tokenFault } from '../../../push/rules/token-form.js'
import type { VendorChannel } from '../../../push/sender.js'
import type { Suppression } from '../audience/recipient.js'
import type { PushCertificateEntry } from '../certificates/certificate-model.js'
import type { DistributionStrategy } from '../content/task-content.js'

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

/** The fields of a certificate by which a channel is chosen. */
export interface UsableCertificate extends Pick<PushCertificateEntry, 'certificateId' | 'name'> {
  readonly gateway: Pick<PushCertificateEntry['gateway'], 'channel'>
}

/** A way to a device. */
export interface VendorWay {
  readonly certificate: UsableCertificate
  readonly binding: DeviceBinding
}

/** The inputs of the choice. */
export interface ChoiceInputs {
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

/** The first channel of a device. */
export function chooseChannel(inputs: ChoiceInputs): ChannelChoice {
  const { strategy, isConnected } = inputs
  if (strategy !== 'ospush_only' && isConnected) return { kind: 'core' }
  if (strategy === 'corepush_only') return { kind: 'none', reason: 'not_connected' }
  const [first] = vendorWays(inputs)
  if (first) return { kind: 'vendor', ...first }
  return { kind: 'none', reason: whyNoVendor(inputs) }
}

/** The ways of the sequence to a device that can be used now, in order. */
export function vendorWays({ sequence, bindings, certificates, now }: ChoiceInputs): VendorWay[] {
  const ways = bindings.flatMap((binding): VendorWay[] => {
    const certificate = certificates.get(binding.notifierName)
    const isUsable =
      certificate &&
      sequence.includes(certificate.gateway.channel) &&
      binding.pausedUntil <= now &&
      hasForm(certificate, binding)
    return isUsable ? [{ certificate, binding }] : []
  })
  return ways.sort((a, b) => compareWays(sequence, a.certificate, b.certificate))
}

/** Compares the places of two certificates in the sequence. */
export function compareWays(
  sequence: readonly VendorChannel[],
  a: UsableCertificate,
  b: UsableCertificate,
): number {
  const place = ({ gateway }: UsableCertificate) => sequence.indexOf(gateway.channel)
  return place(a) - place(b) || compare(a.certificateId, b.certificateId)
}

function whyNoVendor({ sequence, bindings, certificates }: ChoiceInputs): Suppression {
  if (bindings.length === 0) return 'not_connected'
  const known = bindings.flatMap((binding) => {
    const certificate = certificates.get(binding.notifierName)
    return certificate ? [{ certificate, binding }] : []
  })
  if (known.length === 0) return 'no_certificate'
  const inSequence = known.filter(({ certificate: { gateway } }) =>
    sequence.includes(gateway.channel),
  )
  if (inSequence.length === 0) return 'no_channel_of_the_sequence'
  return inSequence.some(({ certificate, binding }) => hasForm(certificate, binding))
    ? 'device_paused'
    : 'malformed_token'
}

function hasForm({ gateway }: UsableCertificate, { deviceToken }: DeviceBinding): boolean {
  return tokenFault(gateway.channel, deviceToken) === null
}
