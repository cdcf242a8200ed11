import { AppError, type Feature, featureNames, type Int64, type Scopes } from '@hermod/protocol'
import type { Epoch } from '../../db/identity/epoch.js'
import type { SessionDelivery, SyncState } from '../../delivery/delivery.js'
import type { Clock } from '../../lib/clock.js'
import type { SessionRegistry } from '../../sessions/registry.js'
import type { ClientConnection, Session } from '../../sessions/session.js'
import type { ChargeRows } from '../charge-rows.js'
import type { ConnectingClient, DeviceConnections } from '../devices/device-connections.js'
import type { TokenService } from '../login/token-service.js'
import type { SessionAdmission } from './session-admission.js'

interface SessionServiceOptions {
  readonly devices: Pick<DeviceConnections, 'connect'>
  readonly tokens: Pick<TokenService, 'findExpiry'>
  readonly sessions: Pick<SessionRegistry, 'add'>
  readonly admission: SessionAdmission
  readonly delivery: Pick<SessionDelivery, 'enter' | 'groupCount'>
  readonly clock: Clock
  readonly epoch: Pick<Epoch, 'current'>
}

/** The owner of a session, by its token. */
export interface SessionOwner {
  readonly appId: string
  readonly userId: Int64
  /** null with an Admin token, whose sessions have no device. */
  readonly tokenHash: string | null
  /** The scopes of an Admin token. */
  readonly scopes: Scopes
  /** null when the token is tied to no device. */
  readonly deviceSn: number | null
}

/** The client that opens a session. */
export interface OpeningClient extends ConnectingClient {
  /** Absent: the device of the token; "": no device. */
  readonly deviceGuid: string | undefined
  /** null: the client has nothing. */
  readonly pos: string | null
  /** The additions to the contract that it knows, those included that this service does not have. */
  readonly features: readonly string[]
}

/** A session that has entered delivery. */
export interface EnteredSession {
  readonly session: Session
  /** The end of its token, milliseconds since 1970; null for an Admin token. */
  readonly expiresAt: number | null
  readonly epoch: string
  /** Milliseconds since 1970. */
  readonly openedAt: number
  readonly state: SyncState
}

/** Opens the sessions of connections. */
export class SessionService {
  readonly #featureSets = new Map<string, ReadonlySet<Feature>>()

  constructor(private readonly options: SessionServiceOptions) {}

  /**
   * @throws AppError no_permission, token_expired, session_limit_reached, storage_failed, unavailable
   * when the connection is closed
   */
  async open(
    owner: SessionOwner,
    client: OpeningClient,
    connection: ClientConnection,
    charge: ChargeRows,
  ): Promise<EnteredSession> {
    const { admission, tokens, sessions, delivery, clock, epoch } = this.options
    const { appId, userId, tokenHash, scopes } = owner
    const deviceSn = await this.#deviceOf(owner, client)
    const expiresAt = tokenHash === null ? null : await tokens.findExpiry({ appId, tokenHash })
    const isReader = tokenHash === null
    const id = await admission.admit(
      { appId, userId, deviceSn, isReader },
      () => connection.isClosing,
    )
    const session: Session = {
      id,
      appId,
      userId,
      deviceSn,
      tokenHash,
      scopes,
      features: this.#featuresOf(client),
      link: connection,
      phase: 'entering',
      hasMissed: false,
    }
    try {
      connection.bind(session, expiresAt)
    } catch (error) {
      admission.withdraw(session)
      throw error
    }
    if (!sessions.add(session)) throw new AppError('unavailable', 'a later session has replaced it')
    const state = await delivery.enter(session, client.pos)
    charge(delivery.groupCount(session))
    return { session, expiresAt, epoch: epoch.current, openedAt: clock.now(), state }
  }

  /** Sessions with the same features share the set. */
  #featuresOf({ features }: OpeningClient): ReadonlySet<Feature> {
    const known = featureNames.filter((name) => features.includes(name))
    const key = known.join()
    const shared = this.#featureSets.get(key) ?? new Set(known)
    this.#featureSets.set(key, shared)
    return shared
  }

  async #deviceOf(owner: SessionOwner, client: OpeningClient): Promise<number | null> {
    const { tokenHash } = owner
    if (tokenHash === null || client.deviceGuid === '') return null
    return this.options.devices.connect({ ...owner, tokenHash }, client)
  }
}
