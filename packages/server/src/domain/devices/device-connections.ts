import { AppError } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../db/database.js'
import { type Clock, hourMs } from '../../lib/clock.js'
import { BatchQueue } from '../../lib/concurrency/batch-queue.js'
import { definedOnly } from '../../lib/defined-only.js'
import { keyText } from '../../lib/ids/key-text.js'
import { roundsOf } from '../../lib/rounds.js'
import type { TokenService } from '../login/token-service.js'
import type { UserKey } from '../users/user-model.js'
import type { StoredDevice } from './device-model.js'
import { type DeviceService, type DeviceUse, shortUserAgent } from './device-service.js'
import type { DeviceStore } from './device-store.js'

interface DeviceConnectionsOptions {
  readonly database: Database
  readonly store: Pick<DeviceStore, 'find' | 'findByGuid'>
  readonly devices: Pick<DeviceService, 'openAll'>
  readonly tokens: Pick<TokenService, 'revokeOfDevices' | 'tieToDevices'>
  readonly clock: Clock
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

/** Finds the devices of connections (rule D6). */
export class DeviceConnections {
  readonly #queue: BatchQueue<TokenUse, number>

  constructor(private readonly options: DeviceConnectionsOptions) {
    this.#queue = new BatchQueue({
      sizeOf: () => 1,
      maxBatchSize,
      maxQueuedSize: maxQueued,
      // The clients that come meanwhile are one batch.
      maxBatches: 1,
      run: (uses) => this.#open(uses),
      full: () => new AppError('unavailable', 'too many devices are waiting'),
      isErrorOfOne: (error) => !isDatabaseFailure(error),
      observer: { refused() {}, finished() {} },
    })
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
    return this.#queue.add({ ...use, tokenHash })
  }

  /** Opens devices, at most one of a user in a transaction. */
  async #open(uses: readonly TokenUse[]): Promise<number[]> {
    const { database } = this.options
    const opened = new Map<TokenUse, number>()
    for (const round of roundsOf(uses, ({ appId, userId }) => keyText(appId, userId))) {
      const serials = await database.transaction((tx) => this.#openRound(tx, round))
      for (const [index, use] of round.entries()) opened.set(use, serials[index] as number)
    }
    return uses.map((use) => opened.get(use) as number)
  }

  async #openRound(tx: Tx, uses: readonly TokenUse[]): Promise<number[]> {
    const { devices, tokens, clock } = this.options
    const opened = await devices.openAll(tx, uses)
    for (const [index, { displaced: deviceSns }] of opened.entries()) {
      const { appId, userId } = uses[index] as TokenUse
      await tokens.revokeOfDevices(tx, { appId, userId, deviceSns, at: clock.now() })
    }
    const serials = opened.map(({ deviceSn }) => deviceSn)
    const ties = uses.map((use, index) => ({ ...use, deviceSn: serials[index] as number }))
    const tied = await tokens.tieToDevices(tx, ties)
    if (tied.some((deviceSn, index) => deviceSn !== serials[index])) throw otherDevice()
    return serials
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

/** Every other failure is of one token or one device. */
function isDatabaseFailure(error: unknown): boolean {
  return error instanceof AppError && error.errorName === 'storage_failed'
}

function otherDevice(): AppError {
  return new AppError('no_permission', 'device_guid is not that of the device of the token')
}
