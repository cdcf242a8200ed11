import { TestAuthority } from './certificates.js'
import { type GatewayOptions, SimulatedGateway } from './gateway.js'
import { cloudGateway } from './gateways/cloud-gw.js'
import { iosGateway } from './gateways/ios-gw.js'
import { vendorFGateway } from './gateways/vendor-f.js'
import { vendorHGateway } from './gateways/vendor-h.js'
import { vendorNGateway } from './gateways/vendor-n.js'
import { vendorOGateway } from './gateways/vendor-o.js'
import { vendorVGateway } from './gateways/vendor-v.js'
import { vendorXGateway } from './gateways/vendor-x.js'
import { type GatewayModel, type SimulatedChannel, simulatedChannels } from './model.js'

/** Creates the rules of each gateway, with its own credentials. */
export const gatewayModels = {
  ios_gw: iosGateway,
  cloud_gw: cloudGateway,
  vendor_h: vendorHGateway,
  vendor_x: vendorXGateway,
  vendor_f: vendorFGateway,
  vendor_v: vendorVGateway,
  vendor_o: vendorOGateway,
  vendor_n: vendorNGateway,
} satisfies Record<SimulatedChannel, () => GatewayModel>

export interface PushSimulatorOptions extends Partial<Omit<GatewayOptions, 'port'>> {
  /** The gateways take this port and the seven after it; 0, the default: any free ones. */
  readonly firstPort?: number
}

/** All eight gateways, with one authority: by default that of the process. */
export class PushSimulator implements AsyncDisposable {
  static #authority: TestAuthority | undefined

  private constructor(
    readonly authority: TestAuthority,
    readonly gateways: Readonly<Record<SimulatedChannel, SimulatedGateway>>,
  ) {}

  static async start({
    firstPort = 0,
    ...options
  }: PushSimulatorOptions = {}): Promise<PushSimulator> {
    PushSimulator.#authority ??= new TestAuthority()
    const authority = options.authority ?? PushSimulator.#authority
    const started: SimulatedGateway[] = []
    try {
      for (const [index, channel] of simulatedChannels.entries()) {
        const port = firstPort === 0 ? 0 : firstPort + index
        const model = gatewayModels[channel]()
        started.push(await SimulatedGateway.start(model, { ...options, authority, port }))
      }
    } catch (error) {
      await stopAll(started)
      throw error
    }
    const gateways = Object.fromEntries(started.map((gateway) => [gateway.channel, gateway]))
    return new PushSimulator(authority, gateways as Record<SimulatedChannel, SimulatedGateway>)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stopAll(Object.values(this.gateways))
  }
}

async function stopAll(gateways: readonly SimulatedGateway[]): Promise<void> {
  await Promise.all(gateways.map((gateway) => gateway[Symbol.asyncDispose]()))
}
