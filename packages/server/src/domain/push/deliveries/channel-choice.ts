/** Through which channel a push reaches a device (rule G2). */
import { compare } from '../../../lib/compare.js'
import { tokenFault } from '../../../push/rules/token-form.js'
import type { ApnsTokenType, VendorChannel } from '../../../push/certificate.js'
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
  readonly gateway: Pick<PushCertificateEntry['gateway'], 'channel' | 'pushType'>
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
  readonly tokenType: ApnsTokenType
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

function isOfActivity(tokenType: ApnsTokenType): boolean {
  return tokenType === 'liveactivity' || tokenType === 'liveactivity_start'
}

/** The first channel of a device. The system changes live activities, also when the app is connected. */
export function chooseChannel(inputs: ChoiceInputs): ChannelChoice {
  const { strategy, tokenType } = inputs
  const isConnected = inputs.isConnected && !isOfActivity(tokenType)
  if (strategy !== 'ospush_only' && isConnected) return { kind: 'core' }
  if (strategy === 'corepush_only') return { kind: 'none', reason: 'not_connected' }
  const [first] = vendorWays(inputs)
  if (first) return { kind: 'vendor', ...first }
  return { kind: 'none', reason: whyNoVendor(inputs) }
}

/** The ways of the sequence to a device that can be used now, in order. */
export function vendorWays(inputs: Omit<ChoiceInputs, 'strategy' | 'isConnected'>): VendorWay[] {
  const { sequence, tokenType, bindings, certificates, now } = inputs
  const ways = bindings.flatMap((binding): VendorWay[] => {
    const certificate = certificates.get(binding.notifierName)
    const isUsable =
      certificate &&
      sequence.includes(certificate.gateway.channel) &&
      takesTokenType(certificate, tokenType) &&
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

function whyNoVendor({ sequence, tokenType, bindings, certificates }: ChoiceInputs): Suppression {
  if (bindings.length === 0) return isOfActivity(tokenType) ? 'no_push_type' : 'not_connected'
  const known = bindings.flatMap((binding) => {
    const certificate = certificates.get(binding.notifierName)
    return certificate ? [{ certificate, binding }] : []
  })
  if (known.length === 0) return 'no_certificate'
  const inSequence = known.filter(({ certificate: { gateway } }) =>
    sequence.includes(gateway.channel),
  )
  if (inSequence.length === 0) return 'no_channel_of_the_sequence'
  const ofType = inSequence.filter(({ certificate }) => takesTokenType(certificate, tokenType))
  if (ofType.length === 0) return 'no_push_type'
  return ofType.some(({ certificate, binding }) => hasForm(certificate, binding))
    ? 'device_paused'
    : 'malformed_token'
}

/**
 * Tests whether pushes of a type go to the tokens of a certificate. A call is an ordinary push on
 * other channels; a live activity exists on ios_gw only.
 */
function takesTokenType({ gateway }: UsableCertificate, tokenType: ApnsTokenType): boolean {
  const { channel, pushType: own = 'alert' } = gateway
  return channel === 'ios_gw' ? own === tokenType : !isOfActivity(tokenType)
}

function hasForm({ gateway }: UsableCertificate, { deviceToken }: DeviceBinding): boolean {
  return tokenFault(gateway.channel, deviceToken) === null
}
