/** The parts of the domain in portable exports and imports: applications, and their keys. */
import { randomBytes } from 'node:crypto'
import type { Database, Queryable } from '../../db/database.js'
import { AppSecrets } from '../../domain/apps/app-secrets.js'
import { AppStore } from '../../domain/apps/app-store.js'
import { SealedTextError, SecretBox } from '../../lib/secrets/secret-box.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import { exportedText, type LinkKeyOf } from '../../transfer/addresses.js'
import { listLeftBehind } from '../../transfer/left-behind.js'
import { type LineScope, lineTypes } from '../../transfer/lines.js'
import type { ExportManifest, LeftBehind } from '../../transfer/manifest.js'
import { TransferError } from '../../transfer/transfer-error.js'

/** No cache is in use where no service runs. */
const store = new AppStore({ apps: { forget: () => {} }, adminTokens: { forget: () => {} } })

/** The applications of a portable export, and their lines. */
export interface PortableExport {
  readonly apps: ExportManifest['apps']
  readonly scope: LineScope
}

/**
 * Chooses applications of a database.
 * @param keys null: this installation has no secret key here
 * @param wanted [] = all
 * @throws TransferError for an application that does not exist
 */
export async function portableExport(
  database: Database,
  db: Queryable,
  { keys, wanted }: { readonly keys: SecretKeys | null; readonly wanted: readonly string[] },
): Promise<PortableExport> {
  const all = await listLeftBehind(db)
  const unknown = wanted.find((appId) => !Object.hasOwn(all, appId))
  if (unknown !== undefined)
    throw new TransferError(
      `there is no application ${unknown}; hermod app list names all applications`,
    )
  const names = wanted.length > 0 ? [...new Set(wanted)].sort() : Object.keys(all).sort()
  const apps = Object.fromEntries(names.map((appId) => [appId, all[appId] as LeftBehind]))
  const keyOf = await storedLinkKeys(database, db, keys)
  const textOf = (appId: string, text: string) => exportedText(keyOf, appId, text)
  return { apps, scope: { types: lineTypes.portable, apps: names, textOf } }
}

/** Opens the key of an application when the first signed text needs it. */
async function storedLinkKeys(
  database: Database,
  db: Queryable,
  keys: SecretKeys | null,
): Promise<LinkKeyOf> {
  const secrets = keys && appSecrets(database, keys)
  const apps = new Map((await store.list(db)).map((app) => [app.appId, app]))
  return (appId) => {
    const app = apps.get(appId)
    if (!secrets || !app)
      throw new TransferError(
        `the texts of ${appId} may have addresses of files, and only the secret key of the installation tells its own from forged ones; put secret.key into the data folder, or set HERMOD_SECRET_KEY`,
      )
    try {
      return secrets.openFileLinkKey(app)
    } catch (error) {
      if (!(error instanceof SealedTextError)) throw error
      throw new TransferError(
        `the secret key of the settings does not open the keys of ${appId} (${error.message}); set HERMOD_SECRET_KEY or secret.key to that of the exported installation`,
        { cause: error },
      )
    }
  }
}

function appSecrets(database: Database, keys: SecretKeys): AppSecrets {
  return new AppSecrets({ database, store, secretBox: new SecretBox(keys) })
}

/** The new secrets of imported applications; a continued import has those that it has stored. */
export class ImportedSecrets {
  readonly #known: ReadonlyMap<string, { readonly sealed: string; readonly key: Buffer }>

  private constructor(
    private readonly secrets: AppSecrets,
    private readonly apps: ExportManifest['apps'],
    known: ReadonlyMap<string, { readonly sealed: string; readonly key: Buffer }>,
  ) {
    this.#known = known
  }

  static async open(
    database: Database,
    db: Queryable | null,
    { keys, apps }: { readonly keys: SecretKeys; readonly apps: ExportManifest['apps'] },
  ): Promise<ImportedSecrets> {
    const secrets = appSecrets(database, keys)
    const stored = db ? await store.list(db) : []
    const sealedKeys = new Map(stored.map((app) => [app.appId, app.sealedFileLinkKey]))
    const known = Object.keys(apps).map((appId) => {
      const sealed = sealedKeys.get(appId) ?? secrets.newFileLinkKey(appId)
      return [
        appId,
        { sealed, key: secrets.openFileLinkKey({ appId, sealedFileLinkKey: sealed }) },
      ] as const
    })
    return new ImportedSecrets(secrets, apps, new Map(known))
  }

  linkKeyOf(appId: string): Buffer {
    const known = this.#known.get(appId)
    if (!known) throw new Error(`no application ${appId} is imported`)
    return known.key
  }

  /** An application that had a registration secret gets another one, so that it stays closed. */
  columnsOf(appId: string): Readonly<Record<string, string>> {
    const isClosed = (this.apps[appId]?.registration_secret ?? 0) > 0
    const secret = isClosed ? randomBytes(32).toString('base64url') : ''
    return {
      file_link_key: this.#known.get(appId)?.sealed ?? '',
      registration_secret: this.secrets.sealRegistrationSecret(appId, secret),
    }
  }
}
