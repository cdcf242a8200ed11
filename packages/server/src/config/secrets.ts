import { inspect } from 'node:util'
import type { OptionValues } from './options.js'

/** Values that are never logged or printed. */
export interface ServerSecrets {
  /** Holds the database password; null with the embedded database. */
  readonly databaseUrl: string | null
  /** Null: the one kept in the data folder. */
  readonly secretKey: string | null
  /** The key before a change of `secretKey`; null: there is none. */
  readonly secretKeyOld: string | null
  readonly bootstrapAdminToken: string | null
  readonly operatorToken: string | null
  /** Null: alerts have no receiver. */
  readonly alertSecret: string | null
  /** Null: backups are not encrypted. */
  readonly backupPassphrase: string | null
  /** Null: files are not kept in an object store. */
  readonly s3SecretAccessKey: string | null
}

/**
 * The secrets, frozen; logs and JSON see a word instead of them.
 * @param backupPassphrase the contents of the file that a setting names
 */
export function serverSecrets(
  values: OptionValues,
  backupPassphrase: string | null,
): ServerSecrets {
  const { databaseUrl, secretKey, secretKeyOld } = values
  const { bootstrapAdminToken, operatorToken, alertSecret, s3SecretAccessKey } = values
  const veil = { value: () => '[secrets]', enumerable: false }
  return Object.freeze(
    Object.defineProperties(
      {
        databaseUrl,
        secretKey,
        secretKeyOld,
        bootstrapAdminToken,
        operatorToken,
        alertSecret,
        backupPassphrase,
        s3SecretAccessKey,
      },
      { toJSON: veil, [inspect.custom]: veil },
    ),
  )
}
