import { AppError, type Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { confirmRefusal, type Freshness } from '../../lib/invalidated-cache.js'
import type { Outbox } from '../../outbox/outbox.js'
import { tokenFault } from '../../push/rules/token-form.js'
import type { VendorChannel } from '../../push/certificate.js'
import type { TokenService } from '../login/token-service.js'
import type { UserKey } from '../users/user-model.js'
import { type DeviceKey, deviceEvent, type PushBinding } from './device-model.js'
import type { DeviceService } from './device-service.js'
import type { PushBindingStore } from './push-binding-store.js'

/** The push certificates of an app, by which bindings are checked. */
export interface BindingCertificates {
  of(
    appId: string,
    freshness?: Freshness,
  ): Promise<
    readonly {
      readonly name: string
      readonly gateway: { readonly channel: VendorChannel }
    }[]
  >
}

interface DeviceAccessServiceOptions {
  readonly database: Database
  readonly devices: DeviceService
  readonly bindings: Pick<PushBindingStore, 'bind'>
  readonly tokens: TokenService
  readonly certificates: BindingCertificates
  readonly outbox: Outbox
  readonly clock: Clock
}

/**
 * Binds devices to push tokens, logs them out and removes them. Ended tokens stop working at once
 * (rule C6), and the device gets no more pushes (rule D6a). The actor is the user, or the system
 * for an administrator.
 */
export class DeviceAccessService {
  constructor(private readonly options: DeviceAccessServiceOptions) {}

  /**
   * Binds a token to the device and unbinds it from any other device. A caller's token without a
   * device belongs to this one from then on.
   * @param tokenHash hash of the caller's token; null for an Admin token
   * @throws AppError device_not_found, token_expired, invalid_parameter when the channel of a known
   * certificate has tokens of another form
   */
  async bindPushToken(
    device: DeviceKey,
    binding: PushBinding,
    tokenHash: string | null,
  ): Promise<void> {
    const { database, devices, bindings, tokens, clock } = this.options
    await this.#requireForm(device.appId, binding)
    await database.transaction(async (tx) => {
      await devices.require(tx, device)
      if (tokenHash !== null) await tokens.tieToDevices(tx, [{ ...device, tokenHash }])
      await bindings.bind(tx, device, binding, clock.now())
    })
  }

  /** @throws AppError device_not_found */
  async remove(actorId: Int64, device: DeviceKey): Promise<void> {
    const { database, devices, tokens, clock } = this.options
    const { appId, userId, deviceSn } = device
    await database.transaction(async (tx) => {
      await devices.remove(tx, device, actorId)
      await tokens.revokeOfDevices(tx, { appId, userId, deviceSns: [deviceSn], at: clock.now() })
    })
  }

  /**
   * Logs a device out: ends its tokens and file credentials, and silences its push bindings.
   * @throws AppError device_not_found
   */
  async kick(actorId: Int64, device: DeviceKey): Promise<void> {
    const { database, clock } = this.options
    await database.transaction((tx) => this.#kick(tx, actorId, device, clock.now()))
  }

  /**
   * Does what {@link kick} does, and ends the assertions by which the device would come back.
   * @throws AppError device_not_found
   */
  async revoke(actorId: Int64, device: DeviceKey): Promise<void> {
    const { database, tokens, clock } = this.options
    const at = clock.now()
    await database.transaction(async (tx) => {
      await tokens.endAssertions(tx, device, at)
      await this.#kick(tx, actorId, device, at)
    })
  }

  async #kick(tx: Tx, actorId: Int64, device: DeviceKey, at: number): Promise<void> {
    const { devices, tokens, outbox } = this.options
    const { appId, userId, deviceSn } = device
    await devices.require(tx, device)
    outbox.append(tx, deviceEvent('user.kicked', actorId, device))
    await tokens.revokeOfDevices(tx, { appId, userId, deviceSns: [deviceSn], at })
    await devices.endLogin(tx, device, at)
  }

  /** Logs out all devices of the user; tokens without a device end too, and assertions. */
  async kickAll(actorId: Int64, user: UserKey): Promise<void> {
    const { database, tokens, outbox, clock } = this.options
    const { appId, userId } = user
    await database.transaction(async (tx) => {
      outbox.append(tx, actorEvent('user.kicked', { appId, actorId, userIds: [userId] }))
      await tokens.endLogins(tx, { appId, userIds: [userId], at: clock.now() })
    })
  }

  /** A certificate may come after the binding; then sends check the token. */
  async #requireForm(appId: string, { deviceToken, notifierName }: PushBinding): Promise<void> {
    const fault = await confirmRefusal(
      async (freshness) => {
        const known = await this.options.certificates.of(appId, freshness)
        const channel = known.find(({ name }) => name === notifierName)?.gateway.channel
        const form = channel && tokenFault(channel, deviceToken)
        return form ? `${form} for ${channel}` : null
      },
      (found) => found !== null,
    )
    if (fault !== null)
      throw new AppError(
        'invalid_parameter',
        `device_token must be ${fault}, the channel of notifier_name`,
      )
  }
}
