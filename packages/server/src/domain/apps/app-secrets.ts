import { randomBytes } from 'node:crypto'
import type { Database } from '../../db/database.js'
import type { Updateable } from '../../db/kysely.js'
import type { Schema } from '../../db/schema.js'
import type { SecretBox } from '../../lib/secrets/secret-box.js'
import type { SealedColumn } from '../secrets/secret-service.js'
import type { App } from './app-model.js'
import type { AppStore } from './app-store.js'

interface AppSecretsOptions {
  readonly database: Database
  readonly store: AppStore
  readonly secretBox: SecretBox
}

/** A secret in the row of an app. */
interface AppSecret {
  readonly column: string
  /** The stored form; null for none. */
  sealedOf(app: App): string | null
  changes(sealed: string): Updateable<Schema['apps']>
}

const registrationSecret: AppSecret = {
  column: 'apps.registration_secret',
  sealedOf: ({ sealedRegistrationSecret: sealed }) => (sealed === '' ? null : sealed),
  changes: (sealed) => ({ registration_secret: sealed }),
}
const fileLinkKey: AppSecret = {
  column: 'apps.file_link_key',
  sealedOf: ({ sealedFileLinkKey }) => sealedFileLinkKey,
  changes: (sealed) => ({ file_link_key: sealed }),
}
const linkKeyBytes = 32

/** Seals and opens the secrets of apps. */
export class AppSecrets {
  /** Pages have hundreds of links. An app, and with it its key, is read anew every second. */
  readonly #linkKeys = new WeakMap<object, Buffer>()

  constructor(private readonly options: AppSecretsOptions) {}

  /** @param secret '' stays '' */
  sealRegistrationSecret(appId: string, secret: string): string {
    return secret === '' ? '' : this.#seal(registrationSecret, appId, secret)
  }

  /** @returns '' when there is none. @throws SealedTextError */
  openRegistrationSecret({ appId, sealedRegistrationSecret: sealed }: App): string {
    return sealed === '' ? '' : this.#open(registrationSecret, appId, sealed)
  }

  /** @returns a new key of the addresses of files, sealed */
  newFileLinkKey(appId: string): string {
    return this.#seal(fileLinkKey, appId, randomBytes(linkKeyBytes).toString('base64url'))
  }

  /** @throws SealedTextError */
  openFileLinkKey(app: Pick<App, 'appId' | 'sealedFileLinkKey'>): Buffer {
    const known = this.#linkKeys.get(app)
    if (known) return known
    const text = this.#open(fileLinkKey, app.appId, app.sealedFileLinkKey)
    const key = Buffer.from(text, 'base64url')
    this.#linkKeys.set(app, key)
    return key
  }

  /** The columns that rotations of the secret key and `hermod check` go over. */
  get columns(): readonly SealedColumn[] {
    return [registrationSecret, fileLinkKey].map((secret) => this.#columnOf(secret))
  }

  #columnOf({ column, sealedOf, changes }: AppSecret): SealedColumn {
    const { database, store } = this.options
    return {
      async list(db) {
        const apps = await store.list(db)
        return apps.flatMap((app) => {
          const sealed = sealedOf(app)
          return sealed === null
            ? []
            : [{ appId: app.appId, context: { column, row: app.appId }, sealed }]
        })
      },
      replace: ({ appId, sealed: before }, sealed) =>
        database.transaction(async (tx) => {
          const app = await store.lockForUpdate(tx, appId)
          if (app && sealedOf(app) === before) await store.update(tx, appId, changes(sealed))
        }),
    }
  }

  #seal({ column }: AppSecret, appId: string, secret: string): string {
    return this.options.secretBox.seal(secret, { column, row: appId })
  }

  #open({ column }: AppSecret, appId: string, sealed: string): string {
    return this.options.secretBox.open(sealed, { column, row: appId })
  }
}
