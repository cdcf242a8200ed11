import { type Clock, systemClock } from '../../lib/clock.js'
import type { VendorChannel } from '../certificate.js'
import type { CertificateInspector, PushSender } from '../port.js'
import { cloudProtocol } from './cloud-gw/protocol.js'
import type { ConnectionCare } from './ios-gw/connection.js'
import { iosProtocol } from './ios-gw/protocol.js'
import type { CircuitLimits } from './runtime/circuit.js'
import type { ChannelLimits } from './runtime/protocol.js'
import { GatewayProvider } from './runtime/provider.js'
import { vendorFProtocol } from './vendor-f/protocol.js'
import { vendorHProtocol } from './vendor-h/protocol.js'
import { vendorNProtocol } from './vendor-n/protocol.js'
import { vendorOProtocol } from './vendor-o/protocol.js'
import { vendorVProtocol } from './vendor-v/protocol.js'
import { vendorXProtocol } from './vendor-x/protocol.js'

export interface ProvidersOptions {
  /** Defaults to the system clock. */
  readonly clock?: Clock
  /** Limits of single channels, which override the defaults. */
  readonly limits?: Partial<Readonly<Record<VendorChannel, Partial<ChannelLimits>>>>
  readonly circuit?: Partial<CircuitLimits>
  /** Timing of the checks on lasting connections. */
  readonly care?: ConnectionCare
}

const defaultCircuit: CircuitLimits = {
  configPauseMs: 5 * 60_000,
  refusalsToOpen: 3,
  failuresToOpen: 10,
  outagePauseMs: 15_000,
}

/** A sender for each channel. Senders share no state and are disposed of together. */
export interface PushProviders extends CertificateInspector, AsyncDisposable {
  readonly senders: Readonly<Record<VendorChannel, PushSender>>
  /** Number of certificates with an open circuit, by channel. */
  openCircuits(): Readonly<Partial<Record<VendorChannel, number>>>
}

/** Creates the providers of the real gateways; a certificate may name another endpoint. */
export function createProviders(options: ProvidersOptions = {}): PushProviders {
  const common = {
    clock: options.clock ?? systemClock,
    circuit: { ...defaultCircuit, ...options.circuit },
  }
  const optionsOf = (channel: VendorChannel) => ({
    ...common,
    limits: options.limits?.[channel] ?? {},
  })
  const senders = {
    ios_gw: new GatewayProvider(iosProtocol(options.care), optionsOf('ios_gw')),
    vendor_h: new GatewayProvider(vendorHProtocol, optionsOf('vendor_h')),
    vendor_x: new GatewayProvider(vendorXProtocol, optionsOf('vendor_x')),
    vendor_f: new GatewayProvider(vendorFProtocol, optionsOf('vendor_f')),
    vendor_v: new GatewayProvider(vendorVProtocol, optionsOf('vendor_v')),
    vendor_o: new GatewayProvider(vendorOProtocol, optionsOf('vendor_o')),
    cloud_gw: new GatewayProvider(cloudProtocol, optionsOf('cloud_gw')),
    vendor_n: new GatewayProvider(vendorNProtocol, optionsOf('vendor_n')),
  }
  return {
    senders,
    inspect: (certificate) => senders[certificate.channel].inspect(certificate),
    probe: (certificate) => senders[certificate.channel].probe(certificate),
    openCircuits: () =>
      Object.fromEntries(
        Object.entries(senders).map(([channel, { openCircuits }]) => [channel, openCircuits]),
      ),
    limits: (certificate) => senders[certificate.channel].limits(certificate),
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(senders).map((sender) => sender[Symbol.asyncDispose]()))
    },
  }
}
