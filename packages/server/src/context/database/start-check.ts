import type { Database } from '../../db/database.js'
import { findSchemaProblem, type Release } from '../../db/migrations/migrate.js'
import { findImport } from '../../transfer/import-store.js'

/** The database did not answer the check. */
export class DatabaseUnreachableError extends Error {
  override readonly name = 'DatabaseUnreachableError'
}

interface StartCheckOptions {
  /** The name of the database, for operators. */
  readonly name: string
  /** Default: this build. */
  readonly release?: Release | undefined
  /** Returns the end of a sentence: how to return from a newer version to this one. */
  wayBack(newer: string): string
}

/**
 * Checks, before anything is written, that a database can hold the data of this build.
 * @throws DatabaseUnreachableError; Error that names the database, the problem and the remedy
 */
export async function requireUsable(database: Database, options: StartCheckOptions): Promise<void> {
  const { name } = options
  const problem = await findProblem(database, options).catch((error: NodeJS.ErrnoException) => {
    // Of the build, and not of the database: a module that is missing, or older than another one.
    if (error instanceof SyntaxError || error.code === 'ERR_MODULE_NOT_FOUND')
      throw new Error(`the build of Hermod is not whole: ${error.message}; build it again`, {
        cause: error,
      })
    // A name with several addresses fails with an error that has a code and no text.
    const reason = error.message || error.code || 'unknown'
    const text = `the database ${name} cannot be used: ${reason}${remedyOf(reason)}`
    throw new DatabaseUnreachableError(text, {
      cause: error,
    })
  })
  if (problem !== null) throw new Error(`the database ${name} ${problem}`)
}

/** @throws Error when a part of the data is missing, since an import was interrupted or failed */
export async function requireFinishedImport(database: Database): Promise<void> {
  const state = await database.read((db) => findImport(db))
  if (state !== null)
    throw new Error(
      'the database has an unfinished import; run hermod import with the same folder again, which continues it, hermod import --undo, which removes imported applications, or use another database',
    )
}

/** Remedies of messages of the driver and of poolers that do not name one. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/client password must be a string/, 'PostgreSQL asks for a password, and the URL has none'],
  [
    /unsupported startup parameter/,
    'a pooler refuses it; name PostgreSQL itself in the URL, or set up the pooler as the guide on scaling says',
  ],
]

function remedyOf(reason: string): string {
  const [, remedy] = remedies.find(([message]) => message.test(reason)) ?? []
  return remedy === undefined ? '' : `; ${remedy}`
}

async function findProblem(
  database: Database,
  { wayBack, release }: StartCheckOptions,
): Promise<string | null> {
  const { dialect, writer } = database
  return (
    (await dialect.findProblem?.(writer)) ?? (await findSchemaProblem(database, wayBack, release))
  )
}
