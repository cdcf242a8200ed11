import { AppError } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../db/database.js'
import { type Clock, hourMs } from '../../lib/clock.js'
import { type BatchObserver, BatchQueue } from '../../lib/concurrency/batch-queue.js'
import { Slots } from '../../lib/concurrency/slots.js'
import { definedOnly } from '../../lib/defined-only.js'
import { keyText } from '../../lib/ids/key-text.js'
import { roundsOf } from '../../lib/rounds.js'
import type { TokenService, TokenTie } from '../login/token-service.js'
import type { UserKey } from '../users/user-model.js'
import type { StoredDevice } from './device-model.js'
import {
  type DeviceService,
  type DeviceUse,
  type OpenedDevice,
  shortUserAgent,
} from './device-service.js'
import type { DeviceStore } from './device-store.js'

interface DeviceConnectionsOptions {
  readonly database: Database
  readonly store: Pick<DeviceStore, 'find' | 'findByGuid'>
  readonly devices: Pick<DeviceService, 'open' | 'openFree'>
  readonly tokens: Pick<TokenService, 'revokeOfDevices' | 'tieToDevices'>
  readonly clock: Clock
  readonly observer: BatchObserver
}

/** The token with which a device connects. */
export interface ConnectingToken extends UserKey {
  readonly tokenHash: string
  /** null when the token is tied to no device. */
  readonly deviceSn: number | null
}

/** The client on a device. */
export interface ConnectingClient {
  /** Absent: the device of the token. */
  readonly deviceGuid: string | undefined
  /** A value of `platform` of the protocol; absent: unchanged. */
  readonly platform: number | undefined
  /** Absent: unchanged. */
  readonly userAgent: string | undefined
}

/** The use of a device by the bearer of a token. */
type TokenUse = DeviceUse & Pick<ConnectingToken, 'tokenHash'>

const maxBatchSize = 100
const maxQueued = 20_000
/** Devices that wait for their user at once: each one holds a connection to the database. */
const waitingAtOnce = 4
const tooMany = () => new AppError('unavailable', 'too many devices are waiting')

/** Finds the devices of connections (rule D6). */
export class DeviceConnections {
  readonly #queue: BatchQueue<TokenUse, number | null>
  readonly #alone = new Slots({ parallel: waitingAtOnce, maxWaiting: maxQueued, full: tooMany })

  constructor(private readonly options: DeviceConnectionsOptions) {
    this.#queue = new BatchQueue({
      sizeOf: () => 1,
      maxBatchSize,
      maxQueuedSize: maxQueued,
      // The clients that come meanwhile are one batch.
      maxBatches: 1,
      run: (uses) => this.#openTogether(uses),
      full: tooMany,
      isErrorOfOne: (error) => !isDatabaseFailure(error),
      observer: options.observer,
    })
  }

  /** Devices that wait for their commit. */
  get queued(): number {
    return this.#queue.queuedSize
  }

  /**
   * Returns the serial number of the device, which is created when it is new. Ties the token to it.
   * Writes nothing for a known device, except once an hour and when the client has changed. Writes of
   * clients that come together are one transaction.
   * @returns null when neither the client nor the token names a device
   * @throws AppError no_permission when the token is tied to another device, token_expired when a
   * concurrent call has ended it
   */
  async connect(token: ConnectingToken, client: ConnectingClient): Promise<number | null> {
    const { database, clock } = this.options
    const { appId, userId, tokenHash } = token
    const known = await database.read((db) => this.#find(db, token, client))
    const deviceGuid = client.deviceGuid ?? known?.deviceGuid
    if (deviceGuid === undefined) return null
    if (token.deviceSn !== null && known?.deviceSn !== token.deviceSn) throw otherDevice()
    if (known && token.deviceSn !== null && isUpToDate(known, client, clock.now()))
      return known.deviceSn
    const { userAgent = null, platform } = client
    const use = { appId, userId, deviceGuid, userAgent, ...definedOnly({ platform }) }
    const tokenUse = { ...use, tokenHash }
    const deviceSn = await this.#queue.add(tokenUse)
    return deviceSn ?? this.#alone.run(() => this.#openAlone(tokenUse))
  }

  /**
   * Opens devices in one transaction: one of each user, and of no user that another transaction has
   * locked, so that none of them waits for the others.
   * @returns null for those that are left out
   */
  async #openTogether(uses: readonly TokenUse[]): Promise<(number | null)[]> {
    const { database, devices } = this.options
    const [firsts = []] = roundsOf(uses, ({ appId, userId }) => keyText(appId, userId))
    const serials = await database.transaction(async (tx) =>
      this.#tie(tx, firsts, await devices.openFree(tx, firsts)),
    )
    const serialOf = new Map(firsts.map((use, index) => [use, serials[index]]))
    return uses.map((use) => serialOf.get(use) ?? null)
  }

  async #openAlone(use: TokenUse): Promise<number> {
    const { database, devices } = this.options
    const [deviceSn] = await database.transaction(async (tx) =>
      this.#tie(tx, [use], [await devices.open(tx, use)]),
    )
    return deviceSn as number
  }

  /**
   * Ties tokens to their devices, and ends the tokens of devices that these have replaced.
   * @param opened the device of each use, null without one
   * @returns its serial number, or null
   */
  async #tie(
    tx: Tx,
    uses: readonly TokenUse[],
    opened: readonly (OpenedDevice | null)[],
  ): Promise<(number | null)[]> {
    const { tokens, clock } = this.options
    const ties: TokenTie[] = []
    for (const [index, { appId, userId, tokenHash }] of uses.entries()) {
      const device = opened[index]
      if (!device) continue
      const { deviceSn, displaced: deviceSns } = device
      await tokens.revokeOfDevices(tx, { appId, userId, deviceSns, at: clock.now() })
      ties.push({ appId, tokenHash, deviceSn })
    }
    const tied = await tokens.tieToDevices(tx, ties)
    if (tied.some((deviceSn, index) => deviceSn !== ties[index]?.deviceSn)) throw otherDevice()
    return opened.map((device) => device?.deviceSn ?? null)
  }

  /** @throws AppError token_expired when the device of the token has been removed */
  async #find(
    db: Queryable,
    token: ConnectingToken,
    { deviceGuid }: ConnectingClient,
  ): Promise<StoredDevice | null> {
    const { store } = this.options
    const { deviceSn } = token
    if (deviceGuid !== undefined) return store.findByGuid(db, token, deviceGuid)
    if (deviceSn === null) return null
    const device = await store.find(db, { ...token, deviceSn })
    if (!device) throw new AppError('token_expired')
    return device
  }
}

function isUpToDate(
  device: StoredDevice,
  { platform = device.platform, userAgent = device.userAgent }: ConnectingClient,
  now: number,
): boolean {
  return (
    device.platform === platform &&
    device.userAgent === shortUserAgent(userAgent) &&
    now - device.lastUsedAt < hourMs
  )
}

/** Every other failure may be of one token or one device. */
function isDatabaseFailure(error: unknown): boolean {
  return error instanceof AppError && error.errorName === 'storage_failed'
}

function otherDevice(): AppError {
  return new AppError('no_permission', 'device_guid is not that of the device of the token')
}
