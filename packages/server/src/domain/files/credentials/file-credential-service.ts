import { type Int64, userStatus } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import type { PurposeKeys, SecretKeys } from '../../../lib/secrets/secret-keys.js'
import { equalSecrets } from '../../../lib/secrets/tokens.js'
import type { DeviceKey } from '../../devices/device-model.js'
import type { UserCredentials } from '../../users/user-credentials.js'
import type { User } from '../../users/user-model.js'
import {
  type CredentialDevice,
  claimedExpiry,
  claimedHolder,
  type FileCredentials,
  fileCredentials,
  fileSignature,
  type SignedRequest,
} from './file-credentials.js'

interface FileCredentialServiceOptions {
  readonly database: Database
  readonly users: Pick<UserCredentials, 'find'>
  readonly devices: {
    /** @returns null when the device does not exist */
    findCredentialEpoch(db: Queryable, device: DeviceKey): Promise<number | null>
  }
  readonly clock: Clock
  readonly secretKeys: SecretKeys
}

/** Signatures with a longer life are refused, so that a leaked link does not work for ever. */
const maxSignatureLifeMs = dayMs

/**
 * Makes and checks the file credentials of the Token record. They end with the tokens of the user
 * or of the device, at once and on every node, since both are read each time.
 */
export class FileCredentialService {
  readonly #keys: PurposeKeys

  constructor(private readonly options: FileCredentialServiceOptions) {
    this.#keys = options.secretKeys.for('file credentials')
  }

  /** @param device of the login; null for a login without a device */
  of(
    user: Pick<User, 'appId' | 'userId' | 'credentialEpoch'>,
    device: CredentialDevice | null,
  ): FileCredentials {
    return fileCredentials(this.#keys.current, user, device)
  }

  /** @returns the owner of a store_token, or null when it has ended or is invalid */
  async userOf(appId: string, storeToken: string): Promise<Int64 | null> {
    return (await this.#ownerOf(appId, storeToken))?.user.userId ?? null
  }

  /**
   * Finds the user who signed a request with the access_key_secret.
   * @param signature see fileSignature; it must end in the future and within a day
   * @returns null when the store token or the signature is not valid
   */
  async signerOf(
    appId: string,
    credentials: { readonly storeToken: string; readonly signature: string },
    request: Pick<SignedRequest, 'method' | 'target'>,
  ): Promise<Int64 | null> {
    const { storeToken, signature } = credentials
    const expiresAt = claimedExpiry(signature)
    const lifeMs = (expiresAt ?? 0) - this.options.clock.now()
    if (expiresAt === null || lifeMs <= 0 || lifeMs > maxSignatureLifeMs) return null
    const owner = await this.#ownerOf(appId, storeToken)
    if (!owner) return null
    const { user, credentials: own } = owner
    const expected = fileSignature(own.accessKeySecret, { ...request, expiresAt })
    return equalSecrets(signature, expected) ? user.userId : null
  }

  /** Finds the owner of a store token, and the credentials that it belongs to. */
  async #ownerOf(
    appId: string,
    storeToken: string,
  ): Promise<{ user: User; credentials: FileCredentials } | null> {
    const { database, users, devices } = this.options
    const claimed = claimedHolder(storeToken)
    if (claimed === null) return null
    const { userId, deviceSn } = claimed
    const user = await database.read((db) => users.find(db, appId, userId))
    if (!user || user.isDeleted || user.status !== userStatus.normal) return null
    let device: CredentialDevice | null = null
    if (deviceSn !== null) {
      const key = { appId, userId, deviceSn }
      const credentialEpoch = await database.read((db) => devices.findCredentialEpoch(db, key))
      if (credentialEpoch === null) return null
      device = { deviceSn, credentialEpoch }
    }
    const credentials = this.#keys.accepted
      .map((key) => fileCredentials(key, user, device))
      .find((each) => equalSecrets(storeToken, each.storeToken))
    return credentials ? { user, credentials } : null
  }
}
