import { AppError } from '@hermod/protocol'
import type { Database, Queryable } from '../../db/database.js'
import { Mutex } from '../../lib/concurrency/mutex.js'
import {
  SealedTextError,
  type SecretBox,
  type SealContext,
  sealedKeyId,
} from '../../lib/secrets/secret-box.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { KeyCheckStore } from './key-check-store.js'

/** A secret as it is stored. */
export interface SealedSecret {
  /** '' for no app. */
  readonly appId: string
  readonly context: SealContext
  readonly sealed: string
}

/**
 * A column of sealed texts. Every column takes part in rotations, in the check at the start and in
 * `hermod check`.
 */
export interface SealedColumn {
  list(db: Queryable): Promise<readonly SealedSecret[]>
  /** Does nothing when the text has changed in the meantime. */
  replace(secret: SealedSecret, sealed: string): Promise<void>
}

/** A file with a secret key that the service may replace. */
export interface KeyFile {
  newKey(): Buffer
  /** Writes all of it or nothing, durably. @param previous null ends it */
  write(current: Buffer, previous: Buffer | null): Promise<void>
}

interface SecretServiceOptions {
  readonly database: Database
  readonly keys: SecretKeys
  /** null when the keys come from the settings. */
  readonly keyFile: KeyFile | null
  readonly box: SecretBox
  readonly keyChecks: KeyCheckStore
  /** Lists the IDs of the other nodes that live. */
  readonly listOtherNodes: () => Promise<readonly string[]>
  /** All columns except the key check, which this service adds. */
  readonly columns: readonly SealedColumn[]
}

/** The result of a rotation of the key. */
export interface RotationReport {
  readonly keyId: string
  /** The key that is still accepted; null for none. */
  readonly previousKeyId: string | null
  readonly keySource: 'file' | 'settings'
  /** The number of secrets that were encrypted again. */
  readonly resealed: number
  /** The number of secrets that no key opens; they stay as they are. */
  readonly unreadable: number
}

/** A secret that does not open, and the reason. */
export interface SecretFault {
  readonly appId: string
  readonly subject: string
  readonly detail: string
}

/** The database needs a missing key. The text names the setting to change. */
export class WrongSecretKeyError extends Error {
  override readonly name = 'WrongSecretKeyError'
}

const keyCheckContext: SealContext = { column: 'key_checks.sealed', row: '1' }
/** The number of passes over secrets that change during a rotation. */
const maxPasses = 10

/**
 * Manages the secrets at rest of all columns: checks the key at the start, rotates keys, and finds
 * secrets that do not open.
 */
export class SecretService {
  readonly #options: SecretServiceOptions
  readonly #columns: readonly SealedColumn[]
  /** One rotation at a time. */
  readonly #rotating = new Mutex()

  constructor(options: SecretServiceOptions) {
    this.#options = options
    this.#columns = [this.#keyCheck(), ...options.columns]
  }

  /** @throws WrongSecretKeyError when a stored secret needs an unknown key */
  async requireKeys(): Promise<void> {
    const { database, keyChecks, keys, box } = this.#options
    if ((await database.read((db) => keyChecks.find(db))) === null)
      await database.transaction((tx) => keyChecks.insert(tx, box.seal('', keyCheckContext)))
    const secrets = await database.read((db) => this.#list(db))
    const ids = secrets.map(({ sealed }) => sealedKeyId(sealed))
    const missing = new Set(ids.filter((id) => id !== null && !keys.ids.includes(id)))
    if (missing.size > 0) throw new WrongSecretKeyError(this.#wrongKeyText([...missing].join(', ')))
  }

  /**
   * Encrypts every secret with the current key. With a key file, it creates a new key first, or
   * completes a rotation that was begun. The previous key stays accepted until {@link retire}.
   * After a kill at any point, nothing is lost, and another call completes it.
   * @throws AppError other_nodes_live with a key file, which they do not read
   */
  async rotate(): Promise<RotationReport> {
    return this.#rotating.run(async () => {
      const { keys, keyFile, listOtherNodes } = this.#options
      const others = keyFile === null ? [] : await listOtherNodes()
      if (others.length > 0) throw new AppError('other_nodes_live', others.join(', '))
      if (keyFile !== null && keys.previous === null) {
        const next = keyFile.newKey()
        const previous = keys.current
        // On disk before a secret is encrypted with it.
        await keyFile.write(next, previous)
        keys.replace(next, previous)
      }
      return this.#reseal()
    })
  }

  /**
   * Ends the previous key when no secret needs it any more. With keys from the settings it only
   * reports: the previous key ends when it is removed from there.
   */
  async retire(): Promise<RotationReport> {
    return this.#rotating.run(async () => {
      const { keys, keyFile } = this.#options
      const report = await this.#reseal()
      if (keyFile === null || keys.previous === null || report.unreadable > 0) return report
      await keyFile.write(keys.current, null)
      keys.replace(keys.current, null)
      return { ...report, previousKeyId: null }
    })
  }

  /** Opens every secret; @returns the number of secrets, and those that do not open */
  async check(db: Queryable): Promise<{ checked: number; faults: SecretFault[] }> {
    const secrets = await this.#list(db)
    const faults = secrets.flatMap((secret) => {
      const detail = this.#faultOf(secret)
      const { appId, context } = secret
      return detail === null
        ? []
        : [{ appId, subject: `${context.column} of ${context.row}`, detail }]
    })
    return { checked: secrets.length, faults }
  }

  async #reseal(): Promise<RotationReport> {
    const { keys, keyFile } = this.#options
    let resealed = 0
    let pass = await this.#resealOnce()
    // Repeated until a pass finds nothing: a call that began before the rotation may store a secret
    // of the previous key.
    for (let passes = 1; pass.resealed > 0 && passes < maxPasses; passes++) {
      resealed += pass.resealed
      pass = await this.#resealOnce()
    }
    const [keyId = '', previousKeyId = null] = keys.ids
    const keySource = keyFile === null ? 'settings' : 'file'
    return { keyId, previousKeyId, keySource, resealed, unreadable: pass.unreadable }
  }

  /** Replaces each secret in a separate transaction, so that no call waits for all of them. */
  async #resealOnce(): Promise<{ resealed: number; unreadable: number }> {
    const { database, box } = this.#options
    const count = { resealed: 0, unreadable: 0 }
    for (const column of this.#columns) {
      const secrets = await database.read((db) => column.list(db))
      for (const secret of secrets) {
        const { sealed, context } = secret
        if (this.#faultOf(secret) !== null) count.unreadable++
        else if (!box.isCurrent(sealed)) {
          await column.replace(secret, box.reseal(sealed, context))
          count.resealed++
        }
      }
    }
    return count
  }

  async #list(db: Queryable): Promise<SealedSecret[]> {
    const secrets: SealedSecret[] = []
    for (const column of this.#columns) secrets.push(...(await column.list(db)))
    return secrets
  }

  #faultOf({ sealed, context }: SealedSecret): string | null {
    try {
      this.#options.box.open(sealed, context)
      return null
    } catch (error) {
      if (error instanceof SealedTextError) return error.message
      throw error
    }
  }

  #keyCheck(): SealedColumn {
    const { database, keyChecks } = this.#options
    return {
      async list(db) {
        const sealed = await keyChecks.find(db)
        return sealed === null ? [] : [{ appId: '', context: keyCheckContext, sealed }]
      },
      replace: (secret, sealed) =>
        database.transaction((tx) => keyChecks.replace(tx, secret.sealed, sealed)),
    }
  }

  #wrongKeyText(missing: string): string {
    const { keys, keyFile } = this.#options
    const found = `the secrets in the database need key ${missing}`
    return keyFile === null
      ? `HERMOD_SECRET_KEY is not the right key: ${found}, the settings hold ${keys.ids.join(', ')}; set HERMOD_SECRET_KEY back to the key that was used before, or HERMOD_SECRET_KEY_OLD to it if the key is to be changed`
      : `secret.key in the data folder is not the right key: ${found}, the file holds ${keys.ids.join(', ')}; restore the file from a backup, or set HERMOD_SECRET_KEY to the key that was used before; nodes that share a database are all given the same HERMOD_SECRET_KEY`
  }
}
