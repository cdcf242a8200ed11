/** The check of a file of users: the rules of the service, and what the file has twice. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { AppError, importUsers, type TSchema } from '@hermod/protocol'
import { requireGoodEntry, type UserToImport } from '../../domain/users/import/user-import-model.js'
import { emailKey, mobileKey, usernameKey } from '../../domain/users/user-model.js'
import { openTemporaryDatabase } from '../temporary-database.js'
import { compileDecoder } from '../../pipeline/decode.js'

/** An entry that cannot be imported. */
interface CheckedLine {
  readonly line: number
  readonly reason: string
}

/** The contents of a file of users. */
export interface UserSummary {
  readonly in: number
  readonly mapped: number
  readonly faults: number
  /** The reasons with the most entries. */
  readonly reasons: readonly { readonly reason: string; readonly count: number }[]
  readonly samples: readonly CheckedLine[]
}

interface DecodedUser {
  readonly username: string
  readonly password?: string
  readonly password_hash?: string
  readonly nick_name?: string
  readonly email?: string
  readonly mobile?: string
  readonly created_at?: number
  readonly identities?: UserToImport['identities']
}

interface CheckOptions {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly passwordMinLength: number
}

const mostSamples = 20
const mostReasons = 100
const rowsPerTransaction = 10_000
const body = importUsers.body as unknown as {
  readonly users: { readonly items: TSchema }
}
const decode = compileDecoder(body.users.items)

/** Reads the entries of a file into a temporary database, so that memory is flat for any number. */
export class UserCheck implements Disposable {
  readonly #db: DatabaseSyncInstance
  readonly #insert: ReturnType<DatabaseSyncInstance['prepare']>
  readonly #reasons = new Map<string, number>()
  readonly #samples: CheckedLine[] = []
  #entries = 0
  #faults = 0

  /** @param folder for temporary files */
  constructor(
    folder: string,
    private readonly options: CheckOptions,
  ) {
    this.#db = openTemporaryDatabase(folder)
    this.#db.exec('create table names (kind text, name text, line integer)')
    this.#insert = this.#db.prepare('insert into names values (?, ?, ?)')
    this.#db.exec('begin')
  }

  /** Checks an entry of a file as the service would. */
  add(line: number, user: Readonly<Record<string, unknown>>): void {
    this.#count()
    const violations: string[] = []
    const decoded = decode(user, '', violations) as DecodedUser
    const violation = violations.length > 0 ? violations.join('; ') : this.#violation(decoded)
    if (violation !== null) this.#fail({ line, reason: violation })
    else for (const { kind, name } of namesOf(decoded)) this.#insert.run(kind, name, line)
  }

  /** Counts a line that is no entry. */
  fail(line: CheckedLine): void {
    this.#count()
    this.#fail(line)
  }

  /** Returns the result, once all entries are there. */
  end(): UserSummary {
    this.#findTwice()
    this.#db.exec('commit')
    const reasons = [...this.#reasons].map(([reason, count]) => ({ reason, count }))
    return {
      in: this.#entries,
      mapped: this.#entries - this.#faults,
      faults: this.#faults,
      reasons: reasons.sort((one, other) => other.count - one.count),
      samples: this.#samples,
    }
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }

  #count(): void {
    if (++this.#entries % rowsPerTransaction === 0) this.#db.exec('commit; begin')
  }

  #violation(user: DecodedUser): string | null {
    const { username, password, password_hash: passwordHash, created_at: createdAt } = user
    const profile = { nick_name: user.nick_name ?? '', email: user.email ?? '' }
    const entry = {
      username,
      password,
      passwordHash,
      profile,
      createdAt,
      identities: user.identities,
    }
    try {
      requireGoodEntry(entry as UserToImport, this.options)
      return null
    } catch (error) {
      if (error instanceof AppError) return error.message
      throw error
    }
  }

  /** Rows after the first one with a name are faults. */
  #findTwice(): void {
    const twice = this.#db.prepare(
      `select line, min(kind) as kind from (select line, kind, row_number() over (partition by kind, name order by line) as place
       from names) where place > 1 group by line order by line`,
    )
    for (const row of twice.iterate()) {
      const { line, kind } = row as { readonly line: number; readonly kind: string }
      this.#fail({ line, reason: `has the ${kind} of a line before` })
    }
  }

  #fail(line: CheckedLine): void {
    this.#faults++
    const known = this.#reasons.get(line.reason)
    if (known !== undefined || this.#reasons.size < mostReasons)
      this.#reasons.set(line.reason, (known ?? 0) + 1)
    if (this.#samples.length < mostSamples) this.#samples.push(line)
  }
}

function namesOf({ username, mobile = '', email = '', identities = [] }: DecodedUser) {
  const subjects = identities.map(({ issuer, subject }) => ({
    kind: 'subject',
    name: `${issuer}\n${subject}`,
  }))
  return [
    { kind: 'username', name: usernameKey(username) },
    ...subjects,
    { kind: 'mobile', name: mobile === '' ? '' : mobileKey(mobile) },
    { kind: 'email', name: email === '' ? '' : emailKey(email) },
  ].filter(({ name }) => name !== '')
}
